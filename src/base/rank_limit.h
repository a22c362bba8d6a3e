#pragma once

namespace partita {

/// Ranks of one job, and so slots of hosts, readers and writers of files.
inline constexpr int kMaxJobRanks = 65536;

}  // namespace partita
