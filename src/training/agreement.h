#pragma once
// What the ranks of a training tell one another between steps.

#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "training/rank_run.h"

namespace partita {

/// One rank's part. All ranks call `exchange` and `await_callbacks` at the same points of a training; those whose
/// callbacks run meanwhile may `read` before.
class Agreement {
 public:
  /// Of each the largest counts.
  enum Field { kStop, kLearningRate, kFiles, kElapsed, kSignal, kSaves, kDue, kBusy, kState, kFields };
  using Fields = std::array<double, kFields>;

  /// The arguments outlive the object. `on_all`: every rank has callbacks; otherwise rank 0 alone.
  Agreement(const Program& program, RankRun& rank, bool on_all) : program_(program), rank_(rank), on_all_(on_all) {}

  /// What all ranks ask for together, when none of them reads a state any more; what was read is forgotten.
  Fields exchange(const Fields& asked);
  /// Until the callbacks of other ranks have read what they want.
  void await_callbacks() { exchange({}); }
  /// While it lives callbacks of this rank run, on the thread that makes it.
  class Callbacks {
   public:
    explicit Callbacks(Agreement& agreement) : agreement_(agreement) {
      agreement_.reader_ = std::this_thread::get_id();
    }
    ~Callbacks() { agreement_.reader_ = std::thread::id(); }
    Callbacks(const Callbacks&) = delete;
    Callbacks& operator=(const Callbacks&) = delete;

   private:
    Agreement& agreement_;
  };
  /// The whole values of a state, for a callback of this rank; the other ranks take part in `exchange`, or read, too.
  /// Throws InvalidArgument for a name that is none, and outside of callbacks.
  Array read(const std::string& name);

 private:
  /// Collective: a rank that wants what another one has read does not wait for the others, which have it, too.
  void gather_state(size_t number);

  const Program& program_;
  RankRun& rank_;
  const bool on_all_;
  std::atomic<std::thread::id> reader_;
  std::map<size_t, Array> states_;  // since the last exchange, by number; empty where no callbacks run
};

}  // namespace partita
