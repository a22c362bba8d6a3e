#pragma once
// What all groups of a world share: whether a rank has aborted it, and whom to wake then.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita {

/// Something with threads that wait in it.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  virtual void wake() noexcept = 0;
};

class World {
 public:
  explicit World(int size) : size_(size) {}
  int size() const { return size_; }

  /// The first abort decides the error of all ranks.
  void abort(const std::string& message, ExitCode code) noexcept;
  bool is_aborted() const { return aborted_.load(); }
  void throw_if_aborted() const;

  /// From now on an abort wakes `group`.
  void enlist(const std::shared_ptr<Wakeable>& group);

 private:
  const int size_;
  std::atomic<bool> aborted_{false};
  mutable std::mutex mutex_;
  std::string message_;
  ExitCode code_ = ExitCode::peer_lost;
  std::vector<std::weak_ptr<Wakeable>> groups_;
};

}  // namespace partita
