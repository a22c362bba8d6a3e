#include "comm/mpi/posted.h"

#include <algorithm>
#include <chrono>

#include "base/resources.h"
#include "comm/mpi/messages.h"

namespace partita {
namespace {

/// Between two looks: a small part of a core, and of the time that a large message takes.
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
    MPI_Testall(static_cast<int>(message.requests.size()), message.requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done == 0) static_cast<void>(new Message(std::move(message)));
  }
}

void PostedMessages::post(const void* data, int64_t bytes, int to, int tag, int64_t most_bytes) {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (!thread_.joinable()) thread_ = start_thread("a thread that sends", [this] { progress(); });
  const auto* begin = static_cast<const std::byte*>(data);
  Message& message = messages_.emplace_back();
  message.bytes.assign(begin, begin + bytes);
  for (int64_t done = 0; done < bytes; done += most_bytes) {
    check_mpi(MPI_Isend(message.bytes.data() + done, static_cast<int>(std::min(most_bytes, bytes - done)), MPI_BYTE, to,
                        tag, comm_, &message.requests.emplace_back(MPI_REQUEST_NULL)),
              "post");
  }
  forget_sent();
  if (!messages_.empty()) changed_.notify_all();
}

void PostedMessages::forget_sent() {
  while (!messages_.empty()) {
    auto& requests = messages_.front().requests;
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), "post");
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
      forget_sent();
    } catch (...) {
      error_ = std::current_exception();
    }
    changed_.wait_for(lock, kProgressInterval, [&] { return stop_; });
  }
}

}  // namespace partita
