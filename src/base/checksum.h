#pragma once
// Checksums of written data: XXH3 (Yann Collet), 64 bits for data and 128 for texts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace partita {

/// The checksum of bytes that are added piece by piece.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum& operator=(Checksum&&) = delete;
  void add(const void* data, size_t bytes);
  /// Returns the checksum of all bytes added since the last call, or since construction, and starts anew.
  uint64_t take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The checksum of a buffer; equal to that of Checksum for the same bytes.
uint64_t checksum_of(const void* data, size_t bytes);
constexpr size_t kTextChecksumDigits = 32;
/// The checksum of a text as kTextChecksumDigits hexadecimal digits.
std::string checksum_of_text(std::string_view text);

constexpr size_t kChecksumDigits = 16;
/// The checksum as kChecksumDigits hexadecimal digits, highest first.
std::string print_checksum(uint64_t checksum);
/// Writes the kChecksumDigits digits of print_checksum to `digits`.
void write_checksum(char* digits, uint64_t checksum);
/// Parses what print_checksum returns; none for any other text, also with capital letters.
std::optional<uint64_t> parse_checksum(std::string_view text);

}  // namespace partita
