#include "frontend/data/readers/npy_elements.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace partita {
namespace {

template <class T>
void widen(const uint8_t* from, int64_t count, int32_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    to[i] = value;
  }
}

constexpr NpyElement kElements[] = {{"<f8", 8, DType::f64, nullptr},        {"<f4", 4, DType::f32, nullptr},
                                    {"<f2", 2, DType::f16, nullptr},        {"<i8", 8, DType::i64, nullptr},
                                    {"<i4", 4, DType::i32, nullptr},        {"<u4", 4, DType::u32, nullptr},
                                    {"|u1", 1, DType::u8, nullptr},         {"|b1", 1, DType::boolean, nullptr},
                                    {"|i1", 1, DType::i32, widen<int8_t>},  {"<i2", 2, DType::i32, widen<int16_t>},
                                    {"<u2", 2, DType::i32, widen<uint16_t>}};

}  // namespace

const NpyElement& npy_element(const std::string& descr, const std::string& where) {
  std::vector<std::string_view> known;
  for (const NpyElement& element : kElements) {
    if (element.descr == descr) return element;
    known.push_back(element.descr);
  }
  throw InvalidFile("[npy] element type not supported in '{}', got {}, expected one of {}", where, descr,
                    fmt::join(known, ", "));
}

void normalize_bools(void* bytes, int64_t count) {
  auto* values = static_cast<uint8_t*>(bytes);
  std::transform(values, values + count, values, [](uint8_t value) { return value != 0; });
}

}  // namespace partita
