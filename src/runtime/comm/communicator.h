#pragma once
// The collective communication interface. A backend is a folder; nothing here is global, so that several communicators
// live in one process.

#include <chrono>
#include <cstdint>
#include <functional>
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
/// after an abort, and peer_lost or peer_stalled if a rank was lost. The code is ranks_disagree if the ranks of the
/// group make different calls, or one that is waited for makes no further call. Calls are compared before any data
/// moves; between hosts only splits, message sizes and, if the carrier transmits labels, the labels are compared. They
/// throw InvalidArgument for a bad count, rank or reduction and for a null buffer of one element or more.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the world rank of each rank of this group, in group order.
  virtual std::span<const int> world_ranks() const = 0;
  /// Returns the position of this process or thread among those of the whole world on its host, and their number.
  virtual HostPlace host_place() const = 0;

  /// Makes a communicator over `members`, ranks of this one in the order of the new ranks. A collective call over all
  /// of this communicator. Every rank passes its own group, which contains it. Throws InvalidArgument if `members`
  /// lacks this rank, repeats one or has one outside of this communicator; RuntimeFailure(ranks_disagree) if members
  /// pass different lists, and other RuntimeFailures as the class says.
  virtual std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout = kDefaultTimeout) = 0;

  /// Reduces `data` in place on every rank. Contributions are combined in group order, so equal contributions give
  /// equal bits. Throws as the class says.
  virtual void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout = kDefaultTimeout) = 0;
  /// Gathers `counts[r]` elements from each rank r into `recv`, one after another. Throws as the class says.
  virtual void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                          Timeout timeout = kDefaultTimeout) = 0;
  /// Reduces `send`, which has the parts for all ranks one after another. Rank r receives its part of `counts[r]`
  /// elements in `recv`. Contributions are combined in group order. Throws as the class says.
  virtual void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                              Timeout timeout = kDefaultTimeout) = 0;
  /// Sends `send_counts[r]` elements to each rank r and receives `recv_counts[r]` from it. Both buffers are ordered by
  /// rank. Throws as the class says.
  virtual void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                          std::span<const int64_t> recv_counts, DType dtype, Timeout timeout = kDefaultTimeout) = 0;
  /// Copies `data` of rank `root` to `data` of all ranks. Throws as the class says.
  virtual void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout = kDefaultTimeout) = 0;
  /// Sends a message to rank `to`. May wait for the receiver, so two ranks that send to each other must not both send
  /// first. Throws as the class says.
  virtual void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout = kDefaultTimeout) = 0;
  /// Copies a message to rank `to` and returns at once. It is delivered in order with what `send` sends to the same
  /// rank. Throws as the class says, except for a timeout.
  virtual void post(const void* data, int64_t count, DType dtype, int to) = 0;
  /// Receives the next message of rank `from`, which has exactly `count` elements; RuntimeFailure(ranks_disagree) is
  /// thrown for one of another length. Otherwise throws as the class says.
  virtual void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout = kDefaultTimeout) = 0;
  /// Returns when all ranks have called it. Throws as the class says.
  virtual void barrier(Timeout timeout = kDefaultTimeout) = 0;

  /// Returns a function that throws RuntimeFailure if the world has failed, also after this object has ended. For
  /// threads that wait elsewhere. Here it does nothing; CheckedCommunicator overrides it.
  virtual std::function<void()> failure_check() const {
    return [] {};
  }
  /// Sets the step of a training, from 1, or 0 after the last one, which messages and records name. Does nothing here;
  /// CheckedCommunicator overrides it.
  virtual void begin_step(int64_t /*step*/) {}

  /// Fails the whole world, unless it has failed already: every rank that waits in a call or makes one later throws
  /// RuntimeFailure with `code` and `message`. Never blocks for long. Under MPI it also ends this process.
  virtual void abort(const std::string& message, ExitCode code = ExitCode::peer_lost) noexcept = 0;
};

}  // namespace partita
