#pragma once

namespace partita {

/// Largest number of ranks of one job. Also bounds the slots of hosts and the readers and writers of files.
inline constexpr int kMaxJobRanks = 65536;

/// Largest number of ranks that are threads of one process.
inline constexpr int kMaxThreadRanks = 256;

}  // namespace partita
