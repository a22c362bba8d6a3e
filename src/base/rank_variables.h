#pragma once
// The variables of launchers that differ between ranks.

namespace partita {

/// Environment variables that tell a process which rank it is, of all launchers that runtime/launch/launched.h knows.
inline constexpr const char* kRankVariables[] = {
    "PARTITA_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK_ID", "DEVICE_ID", "RANK"};

}  // namespace partita
