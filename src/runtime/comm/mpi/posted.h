#pragma once
// Messages in transit whose sender does not wait. MPI moves large ones only while some thread calls it, but a rank may
// compute, or wait in shared memory, while others wait for them. So a dedicated thread calls MPI.

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
  /// `comm` outlives this object.
  explicit PostedMessages(MPI_Comm comm) : comm_(comm) {}
  /// Does not wait for messages. Leaks the bytes of those that are not received yet.
  ~PostedMessages();
  PostedMessages(const PostedMessages&) = delete;
  PostedMessages& operator=(const PostedMessages&) = delete;

  /// Copies the bytes and begins to send them. Throws RuntimeFailure if this message or an earlier one failed, or the
  /// sending thread cannot be started.
  void post(const std::byte* data, int64_t bytes, int to, int tag);

 private:
  struct Message {
    std::vector<std::byte> bytes;
    MPI_Request request = mpi().request_null;
  };

  /// Removes messages that have been sent, from the front, until one that is not. Throws RuntimeFailure if MPI fails
  /// (out_of_memory if it lacks memory, else peer_lost).
  void remove_sent();
  void progress();

  MPI_Comm comm_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace partita
