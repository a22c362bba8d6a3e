#pragma once
// A note for ranks whose accelerators could communicate themselves.

#include <string>

#include "job/rank_options.h"
#include "runtime/comm/communicator.h"

namespace partita {

/// The devices that a process sees.
struct SeenDevices {
  std::string platform;  // "cpu", "cuda"
  size_t count = 0;
};

/// Whether each rank on this host has a device of its own, other than the processor.
bool have_devices(const RankOptions& options, const SeenDevices& devices, const HostPlace& here);
/// Returns a warning if the ranks of a stage communicate through the host though each has a device, "" if they do not.
/// `ranks` is the number of those of the largest stage, `here` describes all ranks on this host.
std::string note_on_collectives(const RankOptions& options, const SeenDevices& devices, int ranks,
                                const HostPlace& here);

}  // namespace partita
