#pragma once
// Quality of predictions: counts over rows, which are added over batches and ranks.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/shape.h"

namespace partita {

/// The value of a metric by its name.
struct Measured {
  std::string name;
  double value = 0;
  bool lower_is_better = false;
};

/// Metrics over the rows of a data set (for a language model: the positions), without those whose label is ignored.
struct Metrics {
  int64_t samples = 0;
  bool classified = true;      // whether the counts below are valid: the network has logits and the rows labels
  int64_t correct = 0;         // rows whose label has the largest logit
  int64_t correct_in_top = 0;  // rows whose label is among the `top` largest logits
  int64_t top = 5;
  int64_t non_finite = 0;                                // rows with a logit that is NaN or infinite
  double loss = 0;                                       // mean loss
  std::vector<std::pair<std::string, double>> others{};  // means of the loss's other scalars
  std::vector<Measured> measured{};                      // further metrics (training/report/row_metrics.h)

  /// Returns "loss", "accuracy" or one of `measured`. Throws InvalidArgument for another name.
  Measured find(std::string_view name) const;
  double accuracy() const { return share(correct); }
  double top_accuracy() const { return share(correct_in_top); }

 private:
  double share(int64_t count) const {
    return samples > 0 ? static_cast<double>(count) / static_cast<double>(samples) : 0;
  }
};

/// Called on the first rank with the number of rows done and the total.
using EvaluationProgress = std::function<void(int64_t done, int64_t rows)>;

/// Returns the number of rows whose label is among the `top` largest logits; among equal logits the first counts as
/// larger. `logits` is [.., classes]. `labels` are ids [..] of an integer type, or one-hot rows of the shape of
/// `logits`, whose label is the first largest element. A row with a NaN is never correct, nor is one whose id is no
/// class or `ignored`. Throws InvalidArgument if the labels do not fit the logits, or there are no classes.
int64_t count_correct(const ConstTensor& logits, const ConstTensor& labels, int64_t top = 1,
                      std::optional<int64_t> ignored = std::nullopt);

/// Returns the number of rows whose place (op `label_place`) is below `top`, without those whose id in `labels` is
/// `ignored`. Throws InternalError if `places` and `labels` differ in shape.
int64_t count_below(const ConstTensor& places, const ConstTensor& labels, int64_t top, std::optional<int64_t> ignored);

/// Returns the number of ids that are `ignored`; `labels` have an integer type.
int64_t count_ignored(const ConstTensor& labels, int64_t ignored);

/// Returns the number of rows of logits [.., classes] with a NaN or an infinite value; 0 for integers.
int64_t count_non_finite(const ConstTensor& logits);

/// Checks that the loss and, as far as `non_finite` counts them, all logits are finite. Throws
/// RuntimeFailure(non_finite) otherwise.
void check_finite(const Metrics& metrics);

}  // namespace partita
