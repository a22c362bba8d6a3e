#pragma once
// Files that a command writes in addition to its printed output.

#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// A flag and the file that it names; an empty path: the flag was not given.
struct FlagFile {
  std::string_view flag;
  std::string path;
};

/// Checks output files before anything takes time; empty paths are ignored. Throws InvalidArgument if a written file is
/// also that of another flag, written or read, and RuntimeFailure(cannot_write), which names the flag, for a file that
/// cannot be written.
void require_outputs(const std::vector<FlagFile>& written, const std::vector<FlagFile>& read = {});

}  // namespace partita
