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
/// Long enough for a rank that writes a file or waits for swapped memory. An abort wakes all ranks at once anyway.
inline constexpr Timeout kDefaultTimeout = std::chrono::minutes(30);

/// Rank and number of ranks on one host.
struct HostPlace {
  int rank = 0, size = 1;
};

/// A group of ranks. Every call is collective over the group except send, post, recv, begin_step and abort. Counts are
/// in elements. Buffers are dense.
///
/// Communication calls throw RuntimeFailure: peer_stalled when the timeout has passed, the error of the aborting rank
/// after an abort, ranks_disagree if the ranks of the group make different calls. Calls are compared before any data
/// moves; between hosts only splits, message sizes and, if the carrier transmits labels, the labels are compared. Throw
/// InvalidArgument for a bad count, rank or buffer.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The world rank of each rank of this group.
  virtual std::span<const int> world_ranks() const = 0;
  /// Position of this process or thread among those of the whole world on its host.
  virtual HostPlace host_place() const = 0;

  /// Makes a communicator over `members`, ranks of this one in the order of the new ranks. A collective call over all
  /// of this communicator. Every rank passes its own group, which contains it. Throws InvalidArgument if `members`
  /// lacks this rank, repeats one or has one outside of this communicator; RuntimeFailure(ranks_disagree) if members
  /// pass different lists.
  virtual std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout = kDefaultTimeout) = 0;

  /// Reduces `data` in place on every rank. Contributions are combined in group order, so equal contributions give
  /// equal bits.
  virtual void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout = kDefaultTimeout) = 0;
  /// Gathers `counts[r]` elements from each rank r into `recv`, one after another.
  virtual void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                          Timeout timeout = kDefaultTimeout) = 0;
  /// Reduces `send`, which has the parts for all ranks one after another. Rank r receives its part of `counts[r]`
  /// elements. Contributions are combined in group order.
  virtual void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                              Timeout timeout = kDefaultTimeout) = 0;
  /// Sends `send_counts[r]` elements to each rank r and receives `recv_counts[r]` from it. Both buffers are ordered by
  /// rank.
  virtual void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                          std::span<const int64_t> recv_counts, DType dtype, Timeout timeout = kDefaultTimeout) = 0;
  /// Copies `data` of rank `root` to all ranks.
  virtual void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout = kDefaultTimeout) = 0;
  /// Sends a message to rank `to`. May wait for the receiver, so two ranks that send to each other must not both send
  /// first.
  virtual void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout = kDefaultTimeout) = 0;
  /// Copies the message and returns at once. It is delivered in order with what `send` sends to the same rank.
  virtual void post(const void* data, int64_t count, DType dtype, int to) = 0;
  /// Receives the next message of rank `from`, which has exactly `count` elements.
  virtual void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout = kDefaultTimeout) = 0;
  /// Returns when all ranks have called it.
  virtual void barrier(Timeout timeout = kDefaultTimeout) = 0;

  /// Sets the step of a training, from 1, or 0 after the last one. Messages and records name it.
  virtual void begin_step(int64_t /*step*/) {}

  /// Wakes every rank of the whole world; they throw RuntimeFailure with `code` and `message`. Never blocks.
  virtual void abort(const std::string& message, ExitCode code = ExitCode::peer_lost) noexcept = 0;
};

}  // namespace partita
