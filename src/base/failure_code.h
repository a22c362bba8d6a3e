#pragma once
// Exit codes read from other processes and from files.

#include <cstdint>

#include "base/error.h"

namespace partita {

/// Returns the failure that `code` stands for: a failure of ExitCode or 128 + a signal's number (1 to 64). Any other
/// code, 0 included, is `internal`.
ExitCode failure_of(int64_t code);

}  // namespace partita
