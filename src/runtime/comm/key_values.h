#pragma once
// A key-value store that the ranks of a world share.

#include <memory>
#include <optional>
#include <string>

#include "runtime/comm/communicator.h"

namespace partita {

/// A key-value store of byte strings. Threads may use it at the same time, and none waits for another one's `get`. A
/// process that does not read its answer delays others by at most five seconds, and loses its connection.
class KeyValues {
 public:
  virtual ~KeyValues() = default;
  /// Sets the value of a key, which replaces an earlier one. Throws RuntimeFailure(peer_lost) if the process that holds
  /// the store does not answer, and the error of the world of ranks if that fails during the wait.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Returns the value of a key, once there is one; none if `timeout` passes first, at once if it is 0. Throws as `put`
  /// does.
  virtual std::optional<std::string> get(const std::string& key, Timeout timeout) = 0;
};

/// Makes a store for ranks that are processes. Rank 0 holds it, and serves it to the others by a thread and a listening
/// socket until its own copy ends. Whoever connects has to know a key of this store. Rank 0 listens at the loopback
/// address if all ranks are on one host, at PARTITA_ADDRESS if that is set and no loopback address, else at the address
/// that leads to the other hosts. A collective call. Throws RuntimeFailure if rank 0 cannot listen or has no such
/// address, and LostRanks.
std::shared_ptr<KeyValues> share_key_values(Communicator& world);

}  // namespace partita
