#pragma once
// A communicator that passes every call on to another one: what wrappers that count or delay calls begin with.

#include "runtime/comm/communicator.h"

namespace partita {

class ForwardingCommunicator : public Communicator {
 public:
  /// `inner` outlives the object.
  explicit ForwardingCommunicator(Communicator& inner) : inner_(inner) {}
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> inner) : owned_(std::move(inner)), inner_(*owned_) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::span<const int> world_ranks() const override { return inner_.world_ranks(); }
  HostPlace host_place() const override { return inner_.host_place(); }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    inner_.all_reduce(data, count, dtype, reduce, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    inner_.all_gather(send, recv, counts, dtype, timeout);
  }
  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override {
    inner_.reduce_scatter(send, recv, counts, dtype, reduce, timeout);
  }
  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) override {
    inner_.all_to_all(send, send_counts, recv, recv_counts, dtype, timeout);
  }
  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) override {
    inner_.broadcast(data, count, dtype, root, timeout);
  }
  void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) override {
    inner_.send(data, count, dtype, to, timeout);
  }
  void post(const void* data, int64_t count, DType dtype, int to) override { inner_.post(data, count, dtype, to); }
  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override {
    inner_.recv(data, count, dtype, from, timeout);
  }
  void barrier(Timeout timeout) override { inner_.barrier(timeout); }
  void begin_step(int64_t step) override { inner_.begin_step(step); }
  std::function<void()> failure_check() const override { return inner_.failure_check(); }
  void abort(const std::string& message, ExitCode code) noexcept override { inner_.abort(message, code); }

 protected:
  Communicator& inner() { return inner_; }

 private:
  std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
};

}  // namespace partita
