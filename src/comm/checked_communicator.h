#pragma once
// What every backend does alike: arguments are checked, and a call becomes one value that peers can compare.

#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"

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

 protected:
  CheckedCommunicator(int rank, std::vector<int> world_ranks) : rank_(rank), world_ranks_(std::move(world_ranks)) {}

  /// A collective other than split. Spans and buffers of a call last until it returns.
  virtual void run(const Call& call, Timeout timeout) = 0;
  virtual void send_to(int to, const Call& call, Timeout timeout) = 0;
  virtual void post_to(int to, const Call& call) = 0;
  virtual void recv_from(int from, const Call& call, Timeout timeout) = 0;
  /// `place`: this rank among the members of the call.
  virtual std::unique_ptr<Communicator> split_off(const Call& call, int place, Timeout timeout) = 0;

 private:
  const int rank_;
  const std::vector<int> world_ranks_;
};

}  // namespace partita
