#pragma once
// How a rank tells `partita launch` that it refuses to start on this number of ranks.

#include <optional>
#include <string>

#include "base/error.h"
#include "runtime/launch/place.h"

namespace partita {

/// Variables of `partita launch`: the file of a rank's refusal, and the number of ranks with which the job began.
inline constexpr const char *kRefusalVariable = "PARTITA_REFUSAL", *kFirstSizeVariable = "PARTITA_FIRST_SIZE";

/// Returns the place of this rank when the job had as many ranks as at first; those that were lost count as ranks of
/// other hosts. None if the job has lost no ranks, or `partita launch` has not started it.
std::optional<Place> first_place(const Place& place);

/// Writes `text` to the file that PARTITA_REFUSAL names, for the launcher: the job refuses to start on this number of
/// ranks, and may start on another one. Does nothing if the job has lost no ranks. Ignores errors.
void tell_refusal(const Place& place, const std::string& text);

/// Returns what `compile` returns, which takes too long to be done twice. Tells the launcher any InvalidArgument that
/// it throws, and passes it on.
template <class Compile>
auto telling_refusals(const Place& place, const Compile& compile) {
  try {
    return compile();
  } catch (const InvalidArgument& error) {
    tell_refusal(place, error.what());
    throw;
  }
}

/// Returns what the quick `check` of a job returns for this place. Tells the launcher an InvalidArgument that it throws
/// for this number of ranks, and not for the one with which the job began, and passes it on.
template <class Check>
auto telling_number(const Place& place, const Check& check) {
  try {
    return check(place);
  } catch (const InvalidArgument& error) {
    std::string at_first;
    try {
      if (const auto first = first_place(place)) check(*first);
    } catch (const Error& same) {
      at_first = same.what();
    }
    // Two numbers may be refused in the same words, those of the ranks of a stage.
    if (at_first != error.what()) tell_refusal(place, fmt::format("{} ranks: {}", place.ranks(), error.what()));
    throw;
  }
}

}  // namespace partita
