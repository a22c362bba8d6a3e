#include "runtime/comm/mpi/posted.h"

#include <chrono>

#include "base/resources.h"
#include "runtime/comm/mpi/carrier.h"

namespace partita {
namespace {

/// Between two polls: a small part of a core's time, and of the duration of a large message.
constexpr std::chrono::microseconds kProgressInterval{50};

}  // namespace

PostedMessages::~PostedMessages() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (Message& message : messages_) {
    int done = 0;
    mpi().test(&message.request, &done, MPI_STATUS_IGNORE);
    if (done == 0) static_cast<void>(new Message(std::move(message)));
  }
}

void PostedMessages::post(const std::byte* data, int64_t bytes, int to, int tag) {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (!thread_.joinable()) thread_ = start_thread("a thread that sends", [this] { progress(); });
  Message& message = messages_.emplace_back();
  message.bytes.assign(data, data + bytes);
  check_mpi(mpi().isend(message.bytes.data(), static_cast<int>(bytes), mpi().byte, to, tag, comm_, &message.request),
            "post");
  remove_sent();
  if (!messages_.empty()) changed_.notify_all();
}

void PostedMessages::remove_sent() {
  while (!messages_.empty()) {
    int done = 0;
    check_mpi(mpi().test(&messages_.front().request, &done, MPI_STATUS_IGNORE), "post");
    if (done == 0) return;
    messages_.pop_front();
  }
}

void PostedMessages::progress() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || (!messages_.empty() && !error_); });
    if (stop_) return;
    try {
      remove_sent();
    } catch (...) {
      error_ = std::current_exception();
    }
    changed_.wait_for(lock, kProgressInterval, [&] { return stop_; });
  }
}

}  // namespace partita
