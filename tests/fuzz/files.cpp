#include "fuzz/files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace partita {
namespace {

constexpr std::string_view kBetweenParts = "\n|----|\n";

}  // namespace

InputFolder::InputFolder() {
  const std::filesystem::path memory = "/dev/shm";
  const bool has_memory = ::access(memory.c_str(), W_OK) == 0;
  std::string name = ((has_memory ? memory : std::filesystem::temp_directory_path()) / "partita-fuzz-XXXXXX").string();
  PARTITA_CHECK(::mkdtemp(name.data()) != nullptr, "no folder {}", name);
  path_ = name;
}

InputFolder::~InputFolder() {
  std::error_code failure;
  std::filesystem::remove_all(path_, failure);
}

std::filesystem::path InputFolder::write(std::string_view name, std::string_view bytes) {
  std::filesystem::path path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  PARTITA_CHECK(file.flush().good(), "cannot write {}", path.string());
  return path;
}

void InputFolder::remove(std::string_view name) { std::filesystem::remove_all(path_ / name); }

InputFolder& input_folder() {
  static InputFolder folder;
  return folder;
}

std::vector<std::string> split_parts(std::string_view input, size_t count) {
  std::vector<std::string> parts(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 == count ? input.size() : std::min(input.find(kBetweenParts), input.size());
    parts[i] = input.substr(0, end);
    input.remove_prefix(std::min(input.size(), end + kBetweenParts.size()));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += std::string(text.empty() ? "" : kBetweenParts) + part;
  return text;
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace partita
