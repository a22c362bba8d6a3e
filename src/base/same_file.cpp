#include "base/same_file.h"

#include <filesystem>

namespace partita {
namespace {

/// Returns the absolute path with links resolved as far as the path exists, including a final link to a missing file.
/// Returns "" for a path that the system refuses: one with links that form a circle, or a name that is too long.
std::filesystem::path real_path(std::filesystem::path path) {
  std::error_code failure;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, failure); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, failure);
  }
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
}

}  // namespace

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  if (one == other || std::filesystem::equivalent(one, other, failure)) return true;
  const std::filesystem::path path = real_path(one);
  return !path.empty() && path == real_path(other);
}

}  // namespace partita
