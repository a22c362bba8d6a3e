#include "base/system_files.h"

#include <fstream>

#include "base/plain_text.h"

namespace partita {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int64_t> number_in(const std::string& path) {
  const std::string line = first_line(path);
  std::string_view rest = line;
  return parse_number<int64_t>(next_word(rest));
}

std::optional<int64_t> number_after(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    if (next_word(rest) == key) return parse_number<int64_t>(next_word(rest));
  }
  return std::nullopt;
}

}  // namespace partita
