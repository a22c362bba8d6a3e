#pragma once
// Files that a command writes beside what it prints.

#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// What a flag names; no path: the flag was not given.
struct FlagFile {
  std::string_view flag;
  std::string path;
};

/// Before anything takes time. Throws InvalidArgument for a file that two flags name, RuntimeFailure(cannot_write) with
/// the flag for one that cannot be written.
void require_outputs(const std::vector<FlagFile>& written, const std::vector<FlagFile>& read = {});

}  // namespace partita
