#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace partita {

/// Whether the path leads to a folder. False if that cannot be found out, as for a name that is too long.
inline bool is_folder(const std::string& path) {
  std::error_code failure;
  return std::filesystem::is_directory(path, failure);
}

}  // namespace partita
