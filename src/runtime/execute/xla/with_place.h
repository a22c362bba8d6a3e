#pragma once
// Says in errors of an accelerator where they happened.

#include <utility>

#include "base/error.h"
#include "runtime/pjrt/api.h"

namespace partita {

/// Calls `run`. Appends ": " and what `place(error)` returns to the message of a RuntimeFailure or InternalError, which
/// keeps its exit code, and to the plugin's error of a DeviceLost.
template <class Place, class Run>
decltype(auto) with_place(const Place& place, Run&& run) {
  try {
    return std::forward<Run>(run)();
  } catch (const pjrt::DeviceLost& error) {
    throw error.at(place(error));
  } catch (const RuntimeFailure& error) {
    throw RuntimeFailure(error.code(), "{}: {}", error.what(), place(error));
  } catch (const InternalError& error) {
    throw InternalError("{}: {}", error.what(), place(error));
  }
}

}  // namespace partita
