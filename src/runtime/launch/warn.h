#pragma once
// Prints warnings to stderr: "partita: warning: ...".

#include <string_view>

namespace partita {

/// Prints a warning. If there are several processes, only that of rank 0 prints it.
void warn(std::string_view message);

/// Prints a warning that concerns only this rank.
void warn_of_rank(std::string_view message);

}  // namespace partita
