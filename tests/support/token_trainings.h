#pragma once
// Random tokens, and the losses of a training on them.

#include <vector>

#include "base/philox.h"
#include "base/shape.h"
#include "training/report/callbacks.h"

namespace partita {

/// Returns an array i32[shape] of random numbers from 0 to below `below`, of the stream `name` of a seed.
inline Array random_ids(uint64_t seed, const char* name, const Shape& shape, int64_t below) {
  Array array(Type{DType::i32, shape});
  for (int64_t i = 0; i < array.type().elements(); ++i) {
    const auto count = static_cast<uint64_t>(below);
    array.set(i, static_cast<double>(random_below(random_key(seed, name), static_cast<uint64_t>(i), 0, count)));
  }
  return array;
}

/// Appends the loss of each step to `to`, which outlives it.
class RecordedLosses : public Callback {
 public:
  explicit RecordedLosses(std::vector<double>& to) : to_(to) {}
  void on_step_end(const StepInfo& info) override { to_.push_back(info.loss); }

 private:
  std::vector<double>& to_;
};

}  // namespace partita
