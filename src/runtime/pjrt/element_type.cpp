#include "runtime/pjrt/element_type.h"

#include <utility>

#include "base/error.h"

namespace partita::pjrt {
namespace {

constexpr std::pair<DType, ElementType> kElementTypes[] = {
    {DType::f64, ElementType::f64}, {DType::f32, ElementType::f32}, {DType::bf16, ElementType::bf16},
    {DType::f16, ElementType::f16}, {DType::i64, ElementType::s64}, {DType::i32, ElementType::s32},
    {DType::u8, ElementType::u8},   {DType::u32, ElementType::u32}, {DType::boolean, ElementType::pred},
    {DType::i8, ElementType::s8},   {DType::i16, ElementType::s16}, {DType::u16, ElementType::u16},
};

}  // namespace

ElementType element_type(DType dtype) {
  for (const auto& [own, theirs] : kElementTypes) {
    if (own == dtype) return theirs;
  }
  throw InternalError("[device] no element type of a plugin, got {}", name_of(dtype));
}

DType dtype_of(int element_type) {
  for (const auto& [own, theirs] : kElementTypes) {
    if (static_cast<int>(theirs) == element_type) return own;
  }
  throw InternalError("[device] an element type of a plugin that is unknown here, got {}", element_type);
}

}  // namespace partita::pjrt
