#include "planner/graph_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "ir/ops/registry.h"

namespace partita {
namespace {

constexpr int64_t kMaxGraphBytes = int64_t{16} << 20;

[[noreturn]] void cannot_read(const std::string& path, const std::string& reason) {
  throw MissingFile(fmt::format("[graph] cannot read {}: {}", path, reason));
}

std::string read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) cannot_read(path, std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;) text.append(buffer, count);
  if (std::ferror(file.get()) != 0) cannot_read(path, std::strerror(errno));
  return text;
}

}  // namespace

bool is_graph_file(const std::string& model) { return model.ends_with(".txt") || model.find('/') != std::string::npos; }

Graph read_graph(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure || !std::filesystem::is_regular_file(path, failure)) {
    cannot_read(path, failure ? failure.message() : "not a file");
  }
  if (size > kMaxGraphBytes) {
    throw InvalidFile(
        fmt::format("[graph] {}: too large, got {} bytes, expected at most {}", path, size, kMaxGraphBytes));
  }
  const std::string text = read_text(path);
  try {
    return parse_graph(text, all_ops());
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{} (in {})", error.what(), path), error.kind());
  }
}

}  // namespace partita
