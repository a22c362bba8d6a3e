#pragma once
// Says in errors of an accelerator where they happened.

#include <utility>

#include "base/error.h"

namespace partita {

/// Calls `run`. Appends ": " and what `place(error)` returns to the message of a RuntimeFailure or InternalError, which
/// keeps its exit code.
template <class Place, class Run>
decltype(auto) with_place(const Place& place, Run&& run) {
  try {
    return std::forward<Run>(run)();
  } catch (const RuntimeFailure& error) {
    throw RuntimeFailure(error.code(), fmt::format("{}: {}", error.what(), place(error)));
  } catch (const InternalError& error) {
    throw InternalError(fmt::format("{}: {}", error.what(), place(error)));
  }
}

}  // namespace partita
