#pragma once
// The collective communication interface. A backend is a folder; nothing here is global, so that several communicators
// live in one process.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/reduce.h"

namespace partita {

using Timeout = std::chrono::milliseconds;
/// Long enough for a rank that writes a file or waits for a pager; an abort wakes all at once anyway.
inline constexpr Timeout kDefaultTimeout = std::chrono::minutes(30);

/// A rank among those on its host.
struct HostPlace {
  int rank = 0, size = 1;
};

/// A group of ranks. Every call is collective over the group except send, post and recv, takes a timeout
/// and throws RuntimeFailure: peer_stalled when the timeout passes, the aborting rank's error after
/// an abort, ranks_disagree when the ranks of the group call different things (all before any data
/// moves; between hosts only splits and the sizes of messages are compared). Counts are elements. Buffers are dense.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The rank in the world of each rank of this group.
  virtual std::span<const int> world_ranks() const = 0;
  /// This process or thread among those of the whole world on its host.
  virtual HostPlace host_place() const = 0;

  /// A communicator over `members`, ranks of this one in the order of the new ranks. Collective over
  /// all of this communicator; every rank passes its own group, which contains it.
  virtual std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout = kDefaultTimeout) = 0;

  /// In place. Contributions are combined in group order, so that the bits depend on nothing else.
  virtual void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout = kDefaultTimeout) = 0;
  /// `counts[r]` elements from rank r, one after the other in `recv`.
  virtual void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                          Timeout timeout = kDefaultTimeout) = 0;
  /// `send` holds the parts for all ranks one after the other; rank r keeps `counts[r]` elements.
  virtual void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                              Timeout timeout = kDefaultTimeout) = 0;
  virtual void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                          std::span<const int64_t> recv_counts, DType dtype, Timeout timeout = kDefaultTimeout) = 0;
  virtual void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout = kDefaultTimeout) = 0;
  /// May wait for the receiver: ranks that send to each other must not all send first.
  virtual void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout = kDefaultTimeout) = 0;
  /// Copies the message and returns at once; it is sent in order with what `send` sends to the same rank.
  virtual void post(const void* data, int64_t count, DType dtype, int to) = 0;
  virtual void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout = kDefaultTimeout) = 0;
  virtual void barrier(Timeout timeout = kDefaultTimeout) = 0;

  /// The step of a training that begins, from 1, or 0 after the last: what messages and records name.
  virtual void begin_step(int64_t /*step*/) {}

  /// Wakes every rank of the whole world with `message`; they throw it. Never blocks.
  virtual void abort(const std::string& message, ExitCode code = ExitCode::peer_lost) noexcept = 0;
};

}  // namespace partita
