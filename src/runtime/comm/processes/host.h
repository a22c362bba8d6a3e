#pragma once
// Finds which processes of a world are on one host, and which of these still run.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/comm/shared_memory/presence.h"

namespace partita {

/// Returns the key of the host of this process. Processes with the same key can map each other's memory: it is a digest
/// of the boot, the shared memory, the network namespace and the host name. Containers and network namespaces count as
/// hosts of their own.
uint64_t host_key();
/// Returns the name of the host of this process.
std::string host_name();

/// A process's knowledge of the processes on its host, for the lifetime of the world.
struct Host {
  HostPlace place;
  std::vector<uint64_t> keys;  // host key of each rank of the world
  std::vector<int> ranks;      // world ranks on this host, in order
  int cores = 1;               // cores that these ranks may use together
  std::optional<Presence> presence{};

  /// Whether a rank of the world is on this host.
  bool has(int rank) const { return keys[rank] == keys[ranks[place.rank]]; }
  /// Whether a rank of the world ran on this host and has ended. False if that cannot be detected.
  bool is_gone(int rank) const { return presence && has(rank) && presence->is_gone(rank); }
};

/// Gathers the bytes that each rank brings, the same number from each, in rank order. A collective call. Throws
/// RuntimeFailure if that fails.
using Gather = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Whether `own` is true on all ranks. A collective call. Throws RuntimeFailure if `gather` does.
bool all_agree(const Gather& gather, bool own);
/// Returns the name that rank `root` brings, cut to 63 bytes; "" stands for none. Names of ranks other than `root` are
/// ignored. A collective call. Throws RuntimeFailure if `gather` does.
std::string name_from(const Gather& gather, int root, const std::string& name);

/// Finds the processes on this host: those whose `key` equals this one's. `rank` and `size` are those in the world.
/// `presence` is set on all ranks or, if it fails on one, on none. A collective call over the world. Throws
/// RuntimeFailure if `gather` does.
std::shared_ptr<const Host> find_host(const Gather& gather, int rank, int size, uint64_t key);

}  // namespace partita
