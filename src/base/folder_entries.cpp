#include "base/folder_entries.h"

namespace partita {

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  for (const std::filesystem::directory_iterator end; !failure && entry != end; entry.increment(failure)) {
    found.push_back(entry->path());
  }
  return found;
}

}  // namespace partita
