#pragma once
// Gives a variable another value until the end of the scope.

#include <utility>

namespace partita {

template <class T>
class Restored {
 public:
  Restored(T& target, T value) : target_(target), saved_(std::exchange(target, std::move(value))) {}
  ~Restored() { target_ = std::move(saved_); }
  Restored& operator=(Restored&&) = delete;

 private:
  T& target_;
  T saved_;
};

}  // namespace partita
