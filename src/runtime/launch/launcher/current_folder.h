#pragma once
// The folder in which a job was started.

#include <filesystem>

namespace partita {

/// Returns the absolute path of the current folder. Throws MissingFile if it was removed or cannot be reached.
std::filesystem::path current_folder();

}  // namespace partita
