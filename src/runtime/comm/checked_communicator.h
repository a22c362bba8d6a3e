#pragma once
// The common part of all backends: checks arguments, and turns each call into a value that peers can compare.

#include <memory>
#include <vector>

#include "runtime/comm/call.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"
#include "runtime/comm/world_state.h"

namespace partita {

class CheckedCommunicator : public Communicator {
 public:
  int rank() const final { return rank_; }
  int size() const final { return static_cast<int>(world_ranks_.size()); }
  std::span<const int> world_ranks() const final { return world_ranks_; }

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) final;
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) final;
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Timeout timeout) final;
  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) final;
  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) final;
  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) final;
  void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) final;
  void post(const void* data, int64_t count, DType dtype, int to) final;
  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) final;
  void barrier(Timeout timeout) final;
  void begin_step(int64_t step) final { world_->begin_step(step); }
  std::function<void()> failure_check() const final {
    return [world = world_] { world->throw_if_aborted(); };
  }

 protected:
  /// `rank` is that in the group. `id` identifies the group: the same on all its ranks, unique in the world. Calls are
  /// written to `record` unless it is null.
  CheckedCommunicator(int rank, std::vector<int> world_ranks, std::shared_ptr<WorldState> world, uint64_t id,
                      std::shared_ptr<FlightRecord> record)
      : rank_(rank),
        world_ranks_(std::move(world_ranks)),
        world_(std::move(world)),
        record_(std::move(record)),
        id_(id) {}

  const std::shared_ptr<WorldState>& world() const { return world_; }
  const std::shared_ptr<FlightRecord>& record() const { return record_; }
  uint64_t id() const { return id_; }

  /// Runs a collective other than split. Spans and buffers of the call last until it returns. Throws RankFailures.
  virtual void run(const Call& call, Timeout timeout) = 0;
  virtual void send_to(int to, const Call& call, Timeout timeout) = 0;
  virtual void post_to(int to, const Call& call) = 0;
  virtual void recv_from(int from, const Call& call, Timeout timeout) = 0;
  /// Runs a split and returns the new group's communicator. `place` is the index of this rank among the members of the
  /// call; `id` identifies the new group. Throws RankFailures.
  virtual std::unique_ptr<Communicator> split_off(const Call& call, int place, uint64_t id, Timeout timeout) = 0;

 private:
  /// Runs `body` with the call, to which the step is added, and records its begin and end if there is a record. `peer`
  /// is the world rank of the other end of a message, -1 for a collective. Rethrows what `body` throws, after it
  /// recorded the call as failed.
  template <class Body>
  void recorded(Call call, int peer, Body&& body);
  void collective(const Call& call, Timeout timeout);

  const int rank_;
  const std::vector<int> world_ranks_;
  const std::shared_ptr<WorldState> world_;
  const std::shared_ptr<FlightRecord> record_;
  const uint64_t id_;
  uint64_t calls_ = 0, splits_ = 0;
};

}  // namespace partita
