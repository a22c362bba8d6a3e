#include "runtime/launch/launcher/current_folder.h"

#include "base/error.h"

namespace partita {

std::filesystem::path current_folder() {
  std::error_code failure;
  std::filesystem::path folder = std::filesystem::current_path(failure);
  if (!failure) return folder;
  throw MissingFile("[launch] cannot find the current folder, got {}, expected one that exists", failure.message());
}

}  // namespace partita
