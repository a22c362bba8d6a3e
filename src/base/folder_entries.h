#pragma once
// The contents of a folder.

#include <filesystem>
#include <vector>

namespace partita {

/// Returns the paths of the entries of a folder, in no particular order: those before the first that cannot be read, so
/// none for a path that is no folder.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace partita
