#pragma once
// What all groups of a world share: whether it has failed, and whom to wake then.

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita {

struct Call;

/// Something with threads that wait in it.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  virtual void wake() noexcept = 0;
};

/// Why a world has failed.
struct WorldFailure {
  ExitCode code = ExitCode::peer_lost;
  std::string text;      // the whole message, or, when this rank saw it, "the process of rank 2 on b ended"
  int lost = -1;         // the rank that ended or is silent, if that is why
  bool is_whole = true;  // the message
};

class WorldState {
 public:
  explicit WorldState(int size) : size_(size) {}
  int size() const { return size_; }

  // The first failure decides the error of all ranks. Both wake every waiting call.
  void abort(const std::string& message, ExitCode code, int lost = -1) noexcept {
    fail({.code = code, .lost = lost}, message);
  }
  /// Rank `rank` is there no more (peer_lost), or says nothing (peer_stalled); `what` says how that was seen.
  void lose(int rank, ExitCode code, const std::string& what) noexcept {
    fail({.code = code, .lost = rank, .is_whole = false}, what);
  }
  bool is_aborted() const { return aborted_.load(); }
  void throw_if_aborted() const;
  /// The same for a rank that waits in `call` of a group; a loss is then told with what waited.
  void throw_if_aborted(const Call& call, std::span<const int> world_ranks, uint64_t number = 0) const;
  /// A copy; meaningful once the world has failed.
  WorldFailure failure() const;

  /// From now on a failure wakes `group`.
  void enlist(const std::shared_ptr<Wakeable>& group);

  /// The step of a training that runs, from 1; 0 outside of one.
  void begin_step(int64_t step) { step_.store(step, std::memory_order_relaxed); }
  int64_t step() const { return step_.load(std::memory_order_relaxed); }

 private:
  void fail(WorldFailure failure, const std::string& text) noexcept;

  const int size_;
  std::atomic<bool> aborted_{false};
  std::atomic<int64_t> step_{0};
  mutable std::mutex mutex_;
  WorldFailure failure_;
  std::vector<std::weak_ptr<Wakeable>> groups_;
};

}  // namespace partita
