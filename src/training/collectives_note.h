#pragma once
// A note for ranks whose accelerators could communicate themselves.

#include <string>

#include "runtime/comm/communicator.h"
#include "training/rank_options.h"

namespace partita {

/// The devices that a process sees.
struct SeenDevices {
  std::string platform;  // "cpu", "cuda"
  size_t count = 0;
};

/// Returns a warning if the ranks communicate through the host though each of those on it has an accelerator, "" if
/// they do not. `ranks` is the number of all, `here` describes those on this host.
std::string note_on_collectives(const RankOptions& options, const SeenDevices& devices, int ranks,
                                const HostPlace& here);

}  // namespace partita
