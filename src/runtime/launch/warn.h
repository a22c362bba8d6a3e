#pragma once
// Warnings on stderr: "partita: warning: ...".

#include <string_view>

namespace partita {

/// Prints a line to stderr. Of several processes that meet the same condition only the first prints it.
void warn(std::string_view message);

/// Prints a line to stderr about this rank alone.
void warn_of_rank(std::string_view message);

}  // namespace partita
