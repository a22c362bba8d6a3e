#pragma once
// Agreement of the ranks of a training between its steps.

#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "training/rank_run.h"

namespace partita {

/// One rank's part of the agreement. All ranks call `exchange` and `await_callbacks` at the same points of a training.
/// Meanwhile ranks whose callbacks run may call `read`. All three throw RuntimeFailure if a rank is lost, has failed or
/// makes other calls, and RuntimeFailure(out_of_memory) if gathering a state lacks memory. When the callbacks of a rank
/// fail, that rank calls `fail`; the next call of every other rank throws RuntimeFailure(peer_lost), and so do all
/// later ones, without communication. All ranks have then left the training at the same point.
class Agreement {
 public:
  /// Each field is reduced to its maximum over the ranks.
  enum Field { kStop, kLearningRate, kFiles, kElapsed, kSignal, kSaves, kDue, kBusy, kWaits, kState, kFailed, kFields };
  using Fields = std::array<double, kFields>;

  /// The referenced arguments must outlive this object. `on_all`: every rank runs callbacks; otherwise only rank 0
  /// does.
  Agreement(const Program& program, RankRun& rank, bool on_all) : program_(program), rank_(rank), on_all_(on_all) {}

  /// Returns the maximum over the ranks of each field. `asked`: this rank's fields, with 0 for kState. Collective:
  /// gathers the states that callbacks of other ranks read meanwhile, returns once no rank reads one any more, and
  /// drops what was gathered. Throws as the class says.
  Fields exchange(const Fields& asked);
  /// Waits until the callbacks of all ranks have read the states that they want, then drops these. Collective. Throws
  /// as the class says.
  void await_callbacks() { exchange({}); }
  /// Tells the other ranks that callbacks of this one have failed. Collective with `exchange`, `read` and `fail` of the
  /// other ranks. Does nothing if callbacks of another rank have failed before. If the ranks cannot be told, since one
  /// is lost, `has_failed` stays false.
  void fail() noexcept;
  /// Whether all ranks know that callbacks of one have failed.
  bool has_failed() const { return has_failed_; }
  /// Marks that callbacks of this rank run, on the thread that constructs the object, for as long as it lives.
  class Callbacks {
   public:
    explicit Callbacks(Agreement& agreement) : agreement_(agreement) {
      agreement_.reader_ = std::this_thread::get_id();
    }
    ~Callbacks() { agreement_.reader_ = std::thread::id(); }
    Callbacks& operator=(Callbacks&&) = delete;

   private:
    Agreement& agreement_;
  };
  /// Returns the whole values of the state `name`, for a callback of this rank. Waits until each other rank calls
  /// `exchange`, or `read` for any state, unless the state was gathered since the last `exchange`. Throws
  /// InvalidArgument for an unknown name, and if no callback runs on the calling thread; else as the class says.
  Array read(const std::string& name);

 private:
  /// Returns the maximum over the ranks of each field. Throws as the class says.
  Fields reduced(const Fields& asked);
  /// Gathers the state at index `number` of the program's graph into `states_`: on all ranks if `on_all_` is set, else
  /// on rank 0, and an empty array on the others. Collective. Throws as the class says.
  void gather_state(size_t number);

  const Program& program_;
  RankRun& rank_;
  const bool on_all_;
  std::atomic<std::thread::id> reader_;
  bool has_failed_ = false;
  std::map<size_t, Array> states_;  // gathered since the last exchange, by number; empty arrays where no callbacks run
};

}  // namespace partita
