#include "comm/run_ranks.h"

#include <exception>
#include <mutex>
#include <new>
#include <thread>

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

/// Of the exception being handled.
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

/// Ends with the communicator, so that no rank waits for one that is done.
void run_rank(std::unique_ptr<Communicator>& comm, const std::function<void(Communicator&)>& fn,
              FirstError& first_error) {
  try {
    fn(*comm);
    comm.reset();
  } catch (...) {
    if (!first_error.keep()) return;
    const Reason reason = current_reason();
    comm->abort(fmt::format("rank {}: {}", comm->rank(), reason.text), reason.code);
  }
}

}  // namespace

void run_ranks(int size, const std::function<void(Communicator&)>& fn) {
  auto ranks = make_inproc_world(size);
  FirstError first_error;
  {
    std::vector<std::jthread> threads;
    try {
      for (auto& rank : ranks) {
        threads.emplace_back([&] { run_rank(rank, fn, first_error); });
      }
    } catch (const std::exception& error) {
      if (first_error.keep()) {
        ranks.back()->abort(fmt::format("cannot start rank {}: {}", threads.size(), error.what()),
                            ExitCode::out_of_memory);
      }
    }
  }
  first_error.rethrow();
}

}  // namespace partita
