#pragma once
// A variable with another value for as long as the guard lives.

#include <utility>

namespace partita {

template <class T>
class Restored {
 public:
  Restored(T& target, T value) : target_(target), saved_(std::exchange(target, std::move(value))) {}
  ~Restored() { target_ = std::move(saved_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& target_;
  T saved_;
};

}  // namespace partita
