#include "cli/options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "cli/console.h"
#include "device/cpu/team.h"

namespace partita {
namespace {

/// Bytes of the character that begins here: its length in UTF-8, or 0 when it is none or a control character.
size_t printable_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (!continues(1)) return 0;
  if (first >= 0xc2 && first <= 0xdf) return first == 0xc2 && second < 0xa0 ? 0 : 2;
  if (!continues(2)) return 0;
  if (first == 0xe0 && second < 0xa0) return 0;   // longer than it need be
  if (first == 0xed && second >= 0xa0) return 0;  // half of a pair of UTF-16
  if ((first & 0xf0u) == 0xe0) return 3;
  if (!continues(3) || first < 0xf0 || first > 0xf4) return 0;
  return (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ? 0 : 4;
}

/// Absolute, with the links resolved as far as the path is there, also a last one that leads to nothing yet.
std::filesystem::path real_path(std::filesystem::path path) {
  std::error_code failure;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, failure); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, failure);
  }
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
}

void print_warning(std::string_view message) {
  std::cout.flush();
  std::cerr << fmt::format("partita: warning: {}\n", printable(shortened(message)));
}

}  // namespace

void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument(fmt::format("[{}] out of range, got {}, expected {} to {}", flag, value, least, most));
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = printable_length(text);
    shown += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    shown += printable(line) + (line.size() < text.size() ? "\n" : "");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return shown;
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  return std::filesystem::equivalent(one, other, failure) || real_path(one) == real_path(other);
}

void warn(std::string_view message) {
  if (const auto rank = this_rank(); rank && rank->rank > 0) return;
  print_warning(message);
}

void warn_of_rank(std::string_view message) {
  const auto rank = this_rank();
  print_warning(rank ? fmt::format("rank {}: {}", rank->rank, message) : std::string(message));
}

}  // namespace partita
