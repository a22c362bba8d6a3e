#pragma once
// A communicator that counts what it brings to its rank.

#include <atomic>

#include "support/forwarding_communicator.h"

namespace partita {

class CountingCommunicator final : public ForwardingCommunicator {
 public:
  /// `bytes` grows by what this rank gets from others; it outlives the object, and so does `inner`.
  CountingCommunicator(Communicator& inner, int64_t& bytes) : ForwardingCommunicator(inner), bytes_(bytes) {}
  CountingCommunicator(std::unique_ptr<Communicator> inner, int64_t& bytes)
      : ForwardingCommunicator(std::move(inner)), bytes_(bytes) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<CountingCommunicator>(inner().split(members, timeout), bytes_);
  }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    add(count, dtype);
    ForwardingCommunicator::all_reduce(data, count, dtype, reduce, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    for (int r = 0; r < size(); ++r) add(r == rank() ? 0 : counts[r], dtype);
    ForwardingCommunicator::all_gather(send, recv, counts, dtype, timeout);
  }
  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override {
    add(counts[rank()] * (size() - 1), dtype);
    ForwardingCommunicator::reduce_scatter(send, recv, counts, dtype, reduce, timeout);
  }
  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) override {
    for (int r = 0; r < size(); ++r) add(r == rank() ? 0 : recv_counts[r], dtype);
    ForwardingCommunicator::all_to_all(send, send_counts, recv, recv_counts, dtype, timeout);
  }
  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) override {
    add(root == rank() ? 0 : count, dtype);
    ForwardingCommunicator::broadcast(data, count, dtype, root, timeout);
  }
  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override {
    add(count, dtype);
    ForwardingCommunicator::recv(data, count, dtype, from, timeout);
  }

 private:
  void add(int64_t count, DType dtype) { bytes_ += count * static_cast<int64_t>(size_of(dtype)); }

  int64_t& bytes_;
};

}  // namespace partita
