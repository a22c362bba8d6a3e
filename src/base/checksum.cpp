#include "base/checksum.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <charconv>
#include <cstring>

namespace partita {
namespace {

/// Returns the two hexadecimal digits of each number from 0 to 255, one after another: "000102...ff".
constexpr std::array<char, 512> pairs_of_digits() {
  std::array<char, 512> pairs{};
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = "0123456789abcdef"[(i % 2 == 0 ? i / 32 : i / 2 % 16)];
  return pairs;
}

}  // namespace

struct Checksum::State {
  XXH3_state_t all;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->all); }
Checksum::~Checksum() = default;

void Checksum::add(const void* data, size_t bytes) { XXH3_64bits_update(&state_->all, data, bytes); }

uint64_t Checksum::take() {
  const uint64_t value = XXH3_64bits_digest(&state_->all);
  XXH3_64bits_reset(&state_->all);
  return value;
}

uint64_t checksum_of(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

std::string checksum_of_text(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string print_checksum(uint64_t checksum) {
  std::string text(kChecksumDigits, '0');
  write_checksum(text.data(), checksum);
  return text;
}

void write_checksum(char* digits, uint64_t checksum) {
  static constexpr auto kPairs = pairs_of_digits();
  for (size_t i = 0; i < sizeof checksum; ++i) {
    const size_t byte = checksum >> (8 * (sizeof checksum - 1 - i)) & 0xff;
    std::memcpy(digits + 2 * i, kPairs.data() + 2 * byte, 2);
  }
}

std::optional<uint64_t> parse_checksum(std::string_view text) {
  uint64_t value = 0;
  if (text.size() != kChecksumDigits || text.find_first_not_of("0123456789abcdef") != text.npos) return std::nullopt;
  std::from_chars(text.data(), text.data() + kChecksumDigits, value, 16);
  return value;
}

}  // namespace partita
