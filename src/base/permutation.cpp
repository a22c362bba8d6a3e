#include "base/permutation.h"

#include <algorithm>
#include <bit>

namespace partita {
namespace {

// With halves of a few bits not all orders are equally likely.
constexpr int kMinBits = 10;

/// Returns the bits of `word` mixed, each depending on all (the finalizer of SplitMix64; G. Steele, D. Lea, C. Flood,
/// OOPSLA 2014).
uint64_t mixed_bits(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t key, uint64_t time) : size_(size) {
  const int bits = size > 1 ? std::max(kMinBits, static_cast<int>(std::bit_width(static_cast<uint64_t>(size - 1)))) : 0;
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
  uint64_t word = mixed_bits(key + mixed_bits(time + 0x9e3779b97f4a7c15));
  for (uint64_t& one : keys_) one = word = mixed_bits(word + 0x9e3779b97f4a7c15);
}

int64_t Permutation::operator()(int64_t index) const {
  const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1, low_mask = (uint64_t{1} << low_bits_) - 1;
  auto number = static_cast<uint64_t>(index);
  do {
    uint64_t high = number >> low_bits_, low = number & low_mask;
    for (size_t round = 0; round < keys_.size(); round += 2) {
      high ^= mixed_bits(low + keys_[round]) & high_mask;
      low ^= mixed_bits(high + keys_[round + 1]) & low_mask;
    }
    number = (high << low_bits_) | low;
  } while (number >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(number);
}

}  // namespace partita
