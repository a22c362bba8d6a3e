#include "comm/run_ranks.h"

#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "base/resources.h"
#include "comm/inproc/inproc.h"

namespace partita {
namespace {

/// Keeps the error of the rank that failed first.
class FirstError {
 public:
  /// Called in a handler; true for the first error.
  bool keep() {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr) return false;
    error_ = std::current_exception();
    return true;
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

struct Reason {
  ExitCode code;
  std::string text;
};

/// Of the exception being handled. May throw: a message needs memory.
Reason current_reason() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::out_of_memory, "out of memory"};
  } catch (const std::exception& error) {
    return {ExitCode::internal, error.what()};
  } catch (...) {
    return {ExitCode::internal, "an exception of unknown type"};
  }
}

/// Tells the other ranks of the exception being handled; where there is no memory for a message, by the code alone.
void abort_all(Communicator& comm) noexcept {
  Reason reason{ExitCode::out_of_memory, ""};
  try {
    reason = current_reason();
    reason.text = fmt::format("rank {}: {}", comm.rank(), reason.text);
  } catch (const std::bad_alloc&) {
    reason.text.clear();
  }
  comm.abort(reason.text, reason.code);
}

/// Ends with the communicator, so that no rank waits for one that is done.
void run_rank(std::unique_ptr<Communicator>& comm, const std::function<void(Communicator&)>& fn,
              FirstError& first_error) {
  try {
    fn(*comm);
    comm.reset();
  } catch (...) {
    if (first_error.keep()) abort_all(*comm);
  }
}

}  // namespace

void run_ranks(int size, const std::function<void(Communicator&)>& fn) {
  auto ranks = make_inproc_world(size);
  FirstError first_error;
  {
    std::vector<std::jthread> threads;
    try {
      threads.reserve(ranks.size());
      for (auto& rank : ranks) {
        threads.push_back(start_thread("the threads of ranks", [&] { run_rank(rank, fn, first_error); }));
      }
    } catch (const std::exception&) {
      if (first_error.keep()) abort_all(*ranks.back());  // the last was not started
    }
  }
  first_error.rethrow();
}

}  // namespace partita
