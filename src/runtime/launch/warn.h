#pragma once
// Prints warnings to stderr: "partita: warning: ...".

#include <string_view>

namespace partita {

/// Prints a warning, in which control characters become "?". If a launcher started several processes, only that of rank
/// 0 prints it. Throws LauncherErrors.
void warn(std::string_view message);

/// Prints a warning that concerns only this rank. It begins with "rank R:" if a launcher started this process. Throws
/// LauncherErrors.
void warn_of_rank(std::string_view message);

}  // namespace partita
