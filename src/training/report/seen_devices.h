#pragma once
// The devices that a process sees, and the modes of accelerators that would be faster on them.

#include <string>

#include "job/rank_options.h"
#include "runtime/comm/communicator.h"

namespace partita {

struct SeenDevices {
  std::string platform;  // "cpu", "cuda"
  size_t count = 0;
};

/// Whether each rank on this host has a device of its own, other than the processor.
bool have_devices(const RankOptions& options, const SeenDevices& devices, const HostPlace& here);
/// Returns the modes that a configuration left open where a faster one would have an effect. `ranks` is the number of
/// those of the largest stage, `here` describes all ranks on this host, and `composes_attention` says whether the
/// program has attention that could be fused. Neither has an effect where two runs are to have the same bits.
SlowerModes slower_modes(const RankOptions& options, const SeenDevices& devices, int ranks, const HostPlace& here,
                         bool composes_attention);

}  // namespace partita
