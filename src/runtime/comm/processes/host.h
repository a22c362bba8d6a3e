#pragma once
// Which processes of a world are on one host, and which of these still run.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/comm/shared_memory/presence.h"

namespace partita {

/// Processes with one key can map each other's memory: a digest of what names the running system, its shared memory,
/// its network and its name. Containers, and network namespaces, are hosts of their own.
uint64_t host_key();
/// The name of the system that this process runs on.
std::string host_name();

/// What a process knows of the other processes on its host, for as long as there is a world.
struct Host {
  HostPlace place;
  std::vector<uint64_t> keys;  // of the host of each rank of the world
  std::vector<int> ranks;      // of the world, on this host, in order
  std::optional<Presence> presence{};

  bool has(int rank) const { return keys[rank] == keys[ranks[place.rank]]; }
  /// Whether a rank of the world ran on this host and does so no more.
  bool is_gone(int rank) const { return presence && has(rank) && presence->is_gone(rank); }
};

/// What all ranks of a group have, by rank, of what each brings: `bytes` of them. Collective.
using Gather = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Whether `own` is true on all ranks; the name that rank `root` brings, "" for none. Both collective.
bool all_agree(const Gather& gather, bool own);
std::string name_from(const Gather& gather, int root, const std::string& name);

/// Collective over the world.
std::shared_ptr<const Host> find_host(const Gather& gather, int rank, int size, uint64_t key);

}  // namespace partita
