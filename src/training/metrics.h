#pragma once
// How good predictions are: counts over the rows of a batch, which batches and ranks add up.

#include <optional>
#include <utility>

#include "base/shape.h"

namespace partita {

/// Over the rows (of a language model: the positions) of a data set, but for those whose label is ignored.
struct Metrics {
  int64_t samples = 0;
  bool classified = true;      // the counts below say something: the network has logits and the rows labels
  int64_t correct = 0;         // the label has the largest logit
  int64_t correct_in_top = 0;  // it is among the `top` largest
  int64_t top = 5;
  int64_t non_finite = 0;                                // a logit is NaN or infinite
  double loss = 0;                                       // mean
  std::vector<std::pair<std::string, double>> others{};  // means of the other scalars of the network's loss

  double accuracy() const { return share(correct); }
  double top_accuracy() const { return share(correct_in_top); }

 private:
  double share(int64_t count) const {
    return samples > 0 ? static_cast<double>(count) / static_cast<double>(samples) : 0;
  }
};

/// Rows whose label is among the `top` largest logits, of equal ones the first. `logits` is [.., classes]; `labels`
/// are ids [..] of an integer type, or one-hot rows of the shape of `logits`. A row with a NaN is never right, nor is
/// one whose id is `ignored`.
int64_t count_correct(const ConstTensor& logits, const ConstTensor& labels, int64_t top = 1,
                      std::optional<int64_t> ignored = std::nullopt);

/// Ids of an integer type that are `ignored`.
int64_t count_ignored(const ConstTensor& labels, int64_t ignored);

/// Rows of logits [.., classes] that hold a NaN or an infinite number.
int64_t count_non_finite(const ConstTensor& logits);

/// Throws RuntimeFailure(non_finite) unless the loss and all logits were finite.
void check_finite(const Metrics& metrics);

}  // namespace partita
