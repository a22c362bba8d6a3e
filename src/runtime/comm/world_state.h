#pragma once
// State that all groups of a world share: whether the world has failed, and whom to wake then.

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita {

struct Call;

/// Something in which threads wait.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  virtual void wake() noexcept = 0;
};

/// The reason why a world has failed.
struct WorldFailure {
  ExitCode code = ExitCode::peer_lost;
  std::string text;      // the whole message, or a part such as "the process of rank 2 on b ended"
  int lost = -1;         // the rank that ended or is silent, if that is the reason; else -1
  bool is_whole = true;  // whether `text` is the whole message
};

class WorldState {
 public:
  explicit WorldState(int size) : size_(size) {}
  int size() const { return size_; }

  // The first failure determines the error of all ranks. Both functions wake every waiting call.
  void abort(const std::string& message, ExitCode code, int lost = -1) noexcept {
    fail({.code = code, .lost = lost}, message);
  }
  /// Fails the world, unless it has failed already, and wakes every waiting call. The reason is that `rank` has ended
  /// (peer_lost), is silent (peer_stalled) or sent something unknown (ranks_disagree). `what` says how that was
  /// detected.
  void lose(int rank, ExitCode code, const std::string& what) noexcept {
    fail({.code = code, .lost = rank, .is_whole = false}, what);
  }
  bool is_aborted() const { return aborted_.load(); }
  /// Throws RuntimeFailure with the reason and its exit code if the world has failed.
  void throw_if_aborted() const;
  /// Throws RuntimeFailure with the reason and its exit code if the world has failed. The message of a loss names
  /// `call`, in which this rank waits, and its group's `world_ranks`. `number` stands in for the call's missing number.
  void throw_if_aborted(const Call& call, std::span<const int> world_ranks, uint64_t number = 0) const;
  /// A copy of the reason; meaningful only once the world has failed.
  WorldFailure failure() const;

  /// Registers `group` to be woken by a later failure, as long as it lives.
  void enlist(const std::shared_ptr<Wakeable>& group);

  /// Sets the current step of a training, from 1; 0 outside of one.
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
