#pragma once
// A communicator that counts what it brings to its rank.

#include <atomic>

#include "comm/communicator.h"

namespace partita {

class CountingCommunicator final : public Communicator {
 public:
  /// `bytes` grows by what this rank gets from others; it outlives the object, and so does `inner`.
  CountingCommunicator(Communicator& inner, int64_t& bytes) : inner_(inner), bytes_(bytes) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::span<const int> world_ranks() const override { return inner_.world_ranks(); }
  HostPlace host_place() const override { return inner_.host_place(); }

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<CountingCommunicator>(inner_.split(members, timeout), bytes_);
  }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    add(count, dtype);
    inner_.all_reduce(data, count, dtype, reduce, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    for (int r = 0; r < size(); ++r) add(r == rank() ? 0 : counts[r], dtype);
    inner_.all_gather(send, recv, counts, dtype, timeout);
  }
  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override {
    add(counts[rank()] * (size() - 1), dtype);
    inner_.reduce_scatter(send, recv, counts, dtype, reduce, timeout);
  }
  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) override {
    for (int r = 0; r < size(); ++r) add(r == rank() ? 0 : recv_counts[r], dtype);
    inner_.all_to_all(send, send_counts, recv, recv_counts, dtype, timeout);
  }
  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) override {
    add(root == rank() ? 0 : count, dtype);
    inner_.broadcast(data, count, dtype, root, timeout);
  }
  void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) override {
    inner_.send(data, count, dtype, to, timeout);
  }
  void post(const void* data, int64_t count, DType dtype, int to) override { inner_.post(data, count, dtype, to); }
  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override {
    add(count, dtype);
    inner_.recv(data, count, dtype, from, timeout);
  }
  void barrier(Timeout timeout) override { inner_.barrier(timeout); }
  void abort(const std::string& message, ExitCode code) noexcept override { inner_.abort(message, code); }

  CountingCommunicator(std::unique_ptr<Communicator> inner, int64_t& bytes)
      : owned_(std::move(inner)), inner_(*owned_), bytes_(bytes) {}

 private:
  void add(int64_t count, DType dtype) { bytes_ += count * static_cast<int64_t>(size_of(dtype)); }

  std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
  int64_t& bytes_;
};

}  // namespace partita
