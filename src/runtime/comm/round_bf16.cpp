// Blocks pass through a small array, so that a loop never reads and writes the same memory in two types.

#include "runtime/comm/round_bf16.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/convert_elements.h"

namespace partita {
namespace {

constexpr int64_t kRoundedBlock = 1024;  // elements

}  // namespace

void round_to_bf16(const void* values, void* rounded, int64_t count) {
  std::array<float, kRoundedBlock> wide;
  std::array<bf16, kRoundedBlock> half;
  const auto* from = static_cast<const char*>(values);
  auto* to = static_cast<char*>(rounded);
  for (int64_t begin = 0; begin < count; begin += kRoundedBlock) {
    const auto length = static_cast<size_t>(std::min(kRoundedBlock, count - begin));
    std::memcpy(wide.data(), from + begin * 4, length * 4);
    convert_elements(wide.data(), half.data(), static_cast<int64_t>(length));
    std::memcpy(to + begin * 2, half.data(), length * 2);
  }
}

void widen_from_bf16(const void* rounded, void* values, int64_t count) {
  std::array<float, kRoundedBlock> wide;
  std::array<bf16, kRoundedBlock> half;
  const auto* from = static_cast<const char*>(rounded);
  auto* to = static_cast<char*>(values);
  // The last block first: in place, a block is written where later ones were.
  for (int64_t end = count; end > 0;) {
    const int64_t begin = (end - 1) / kRoundedBlock * kRoundedBlock;
    const auto length = static_cast<size_t>(end - begin);
    std::memcpy(half.data(), from + begin * 2, length * 2);
    convert_elements(half.data(), wide.data(), static_cast<int64_t>(length));
    std::memcpy(to + begin * 4, wide.data(), length * 4);
    end = begin;
  }
}

}  // namespace partita
