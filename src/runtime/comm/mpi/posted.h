#pragma once
// Messages on their way whose sender did not wait. MPI moves those that are large only while some thread calls it, and
// a rank may compute, or wait in shared memory, for as long as others wait for them: a thread of its own calls it.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/comm/mpi/api.h"

namespace partita {

class PostedMessages {
 public:
  /// `comm` outlives the messages.
  explicit PostedMessages(MPI_Comm comm) : comm_(comm) {}
  /// Waits for no message: bytes of those that were not taken stay where they are.
  ~PostedMessages();
  PostedMessages(const PostedMessages&) = delete;
  PostedMessages& operator=(const PostedMessages&) = delete;

  /// Copies the bytes and begins to send them. Throws RuntimeFailure for this message, or an earlier one.
  void post(const std::byte* data, int64_t bytes, int to, int tag);

 private:
  struct Message {
    std::vector<std::byte> bytes;
    MPI_Request request = mpi().request_null;
  };

  /// Forgets those that have been sent, first ones first.
  void forget_sent();
  void progress();

  MPI_Comm comm_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace partita
