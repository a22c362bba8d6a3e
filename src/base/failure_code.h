#pragma once
// Exit codes that come from elsewhere: from other processes, and from files.

#include <cstdint>

#include "base/error.h"

namespace partita {

/// The failure that a number means: `internal` for one with which no program of the project fails.
ExitCode failure_of(int64_t code);

}  // namespace partita
