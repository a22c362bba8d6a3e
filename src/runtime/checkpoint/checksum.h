#pragma once
// Checksums of what is written: XXH3 (Yann Collet), 64 bits of data and 128 of texts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace partita {

/// Of bytes that come piece by piece.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;
  void add(const void* data, size_t bytes);
  /// Of all bytes since the last call, or since the beginning.
  uint64_t take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

uint64_t checksum_of(const void* data, size_t bytes);
constexpr size_t kTextChecksumDigits = 32;
/// That many hexadecimal digits.
std::string checksum_of_text(std::string_view text);

constexpr size_t kChecksumDigits = 16;
/// That many hexadecimal digits, the highest first.
std::string print_checksum(uint64_t checksum);
/// The same at `digits`.
void write_checksum(char* digits, uint64_t checksum);
/// None unless `text` is what print_checksum writes.
std::optional<uint64_t> parse_checksum(std::string_view text);

}  // namespace partita
