#pragma once
// Metrics that are computed from the outputs and the labels of all rows, in parts on the ranks that hold them.

#include <span>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "training/report/metrics.h"

namespace partita {

/// A metric of a user's own: a function of sums over rows, which are added over the batches and the ranks.
struct OwnMetric {
  std::string name;
  int64_t sums = 1;  // number of sums
  /// Adds rows to the sums. `outputs` are the logits of the rows, and `labels` their labels.
  std::function<void(const Array& outputs, const Array& labels, std::span<double> sums)> add;
  std::function<double(std::span<const double> sums)> value;
  bool lower_is_better = false;
};

/// Names and kinds of the metrics that an evaluation measures besides the loss and the accuracy.
struct MetricOptions {
  std::vector<std::string> names{};  // names in `metric_names` or of `own`
  std::vector<OwnMetric> own{};      // all are measured, whether `names` has them or not
  bool is_multilabel = false;        // labels have 0 or 1 for each class, and a class is predicted if its logit is > 0
};

/// Returns the names of metrics, in the order of the documentation: mae, mse and r2 compare numbers; perplexity is e to
/// the power of the loss; top_k_accuracy is the top-k accuracy; precision, recall and f1 are means over the classes
/// that labels or predictions have (_macro), those of all decisions (_micro), or those of the second of two classes
/// (_binary).
const std::vector<std::string>& metric_names();

/// Returns the names that `texts` list, with commas between them, each once. Throws InvalidArgument, which begins with
/// "[where]", for one that is neither in `metric_names` nor the name of one of `own`.
std::vector<std::string> parse_metrics(std::string_view where, const std::vector<std::string>& texts,
                                       const std::vector<OwnMetric>& own = {});

/// Sums over rows, from which the metrics of all rows follow. Equal to those of scikit-learn with its defaults, except
/// that `r2` is 1 for labels without a variance which are met exactly, and 0 if they are not.
class RowMetrics {
 public:
  /// Begins without rows. Throws InvalidArgument as `parse_metrics` does.
  explicit RowMetrics(MetricOptions options);

  /// Whether outputs and labels are needed.
  bool reads_rows() const { return !options_.own.empty() || compares_numbers_ || compares_classes_; }
  /// Adds rows. `logits` is [.., classes]. `labels` are ids [..], of which `ignored` does not count, or numbers of the
  /// shape of `logits`. Throws InvalidArgument if a metric does not fit the labels.
  void add(const Array& logits, const Array& labels, std::optional<int64_t> ignored);
  /// Returns the metrics of the rows of all ranks, in the order of the names, with the user's own ones last. `metrics`
  /// has the loss and the counts of all rows. Collective. Throws as Communicator does, and InvalidArgument for binary
  /// metrics of another number of classes.
  std::vector<Measured> reduced(const Metrics& metrics, Communicator& comm);

 private:
  void add_numbers(const std::vector<double>& outputs, const std::vector<double>& labels, int64_t columns);
  void add_classes(const std::vector<double>& outputs, const std::vector<double>& labels, int64_t classes,
                   std::optional<int64_t> ignored);
  void reduce(Communicator& comm);
  double number_of(const std::string& name) const;
  double class_rate(const std::string& name) const;

  MetricOptions options_;
  bool compares_numbers_ = false, compares_classes_ = false;
  double rows_ = 0;
  std::vector<double> absolute_, squared_, mean_, spread_;  // per column of numbers; spread: of the labels
  std::vector<double> hits_, predicted_, actual_;           // rows, per class
  std::vector<std::vector<double>> own_;                    // sums of each own metric
};

}  // namespace partita
