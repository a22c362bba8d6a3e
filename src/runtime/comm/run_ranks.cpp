#include "runtime/comm/run_ranks.h"

#include <exception>
#include <new>
#include <thread>

#include "base/first_error.h"
#include "base/resources.h"
#include "runtime/comm/inproc/inproc.h"

namespace partita {
namespace {

struct Reason {
  ExitCode code;
  std::string text;
};

/// Returns the code and the text of the exception being handled: out_of_memory for std::bad_alloc, internal for others
/// that are no Error. May throw std::bad_alloc, since a message needs memory.
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

/// Returns the reason that other ranks are given for the exception being handled: its code and "rank R: " with its
/// text. The text is empty if memory is exhausted.
Reason reason_for_others(int rank) noexcept {
  Reason reason{ExitCode::out_of_memory, ""};
  try {
    reason = current_reason();
    reason.text = fmt::format("rank {}: {}", rank, reason.text);
  } catch (const std::bad_alloc&) {
    reason.text.clear();
  }
  return reason;
}

/// Runs `fn` on one rank, then destroys its communicator, so that no rank waits for one that is done. If `fn` throws,
/// does not destroy the communicator and writes the error to `record` unless that is null; if it is the first error of
/// any rank, keeps it in `first_error` and then aborts the world with it. Throws nothing.
void run_rank(std::unique_ptr<Communicator>& comm, const std::function<void(Communicator&)>& fn,
              FirstError& first_error, FlightRecord* record) {
  try {
    fn(*comm);
    comm.reset();
  } catch (...) {
    const bool is_first = first_error.keep();
    const Reason reason = reason_for_others(comm->rank());
    if (record != nullptr) record->fail(reason.code, -1, reason.text);
    if (is_first) comm->abort(reason.text, reason.code);
  }
}

}  // namespace

void run_ranks(int size, const std::function<void(Communicator&)>& fn, const FlightRecords& records) {
  auto ranks = make_inproc_world(size, records);
  FirstError first_error;
  const auto record_of = [&](size_t rank) { return records.empty() ? nullptr : records.at(rank).get(); };
  if (size == 1) {
    run_rank(ranks[0], fn, first_error, record_of(0));
  } else {
    std::vector<std::jthread> threads;
    try {
      threads.reserve(ranks.size());
      for (auto& rank : ranks) {
        threads.push_back(start_thread("the threads of ranks", [&, record = record_of(threads.size())] {
          run_rank(rank, fn, first_error, record);
        }));
      }
    } catch (const std::exception&) {
      // The last thread was not started.
      if (first_error.keep()) {
        const Reason reason = reason_for_others(size - 1);
        ranks.back()->abort(reason.text, reason.code);
      }
    }
  }
  first_error.rethrow();
}

}  // namespace partita
