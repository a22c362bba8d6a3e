#include "training/report/row_metrics.h"

#include <algorithm>
#include <cmath>

#include "base/convert_elements.h"
#include "base/names.h"

namespace partita {
namespace {

bool compares_numbers(const std::string& name) { return name == "mae" || name == "mse" || name == "r2"; }
bool compares_classes(const std::string& name) {
  return name.starts_with("precision_") || name.starts_with("recall_") || name.starts_with("f1_");
}
bool is_lower_better(const std::string& name) { return name == "mae" || name == "mse" || name == "perplexity"; }

std::vector<double> numbers_of(const Array& array) {
  std::vector<double> numbers(static_cast<size_t>(array.type().elements()));
  convert_elements(array.type().dtype, array.data(), DType::f64, numbers.data(), array.type().elements());
  return numbers;
}

/// Returns the index of the first largest number.
int64_t largest(const double* numbers, int64_t count) { return std::max_element(numbers, numbers + count) - numbers; }

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Returns the precision, recall or f1, as `name` begins, of these counts; 0 where it is 0 of 0.
double rate(const std::string& name, double hits, double predicted, double actual) {
  if (name.starts_with("precision")) return share(hits, predicted);
  if (name.starts_with("recall")) return share(hits, actual);
  return share(2 * hits, predicted + actual);
}

}  // namespace

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names{"mae",
                                              "mse",
                                              "r2",
                                              "perplexity",
                                              "top_k_accuracy",
                                              "precision_macro",
                                              "precision_micro",
                                              "precision_binary",
                                              "recall_macro",
                                              "recall_micro",
                                              "recall_binary",
                                              "f1_macro",
                                              "f1_micro",
                                              "f1_binary"};
  return names;
}

std::vector<std::string> parse_metrics(std::string_view where, const std::vector<std::string>& texts,
                                       const std::vector<OwnMetric>& own) {
  std::vector<std::string> known = metric_names(), names;
  for (const OwnMetric& metric : own) known.push_back(metric.name);
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      const std::string& name = known[position_of_name(where, text.substr(begin, end - begin), known)];
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      begin = end + 1;
    }
  }
  return names;
}

RowMetrics::RowMetrics(MetricOptions options) : options_(std::move(options)) {
  options_.names = parse_metrics("metrics", options_.names, options_.own);
  compares_numbers_ = std::ranges::any_of(options_.names, compares_numbers);
  compares_classes_ = std::ranges::any_of(options_.names, compares_classes);
  for (const OwnMetric& metric : options_.own) {
    own_.emplace_back(static_cast<size_t>(metric.sums), 0.0);
    std::erase(options_.names, metric.name);
  }
}

void RowMetrics::add(const Array& logits, const Array& labels, std::optional<int64_t> ignored) {
  for (size_t i = 0; i < own_.size(); ++i) options_.own[i].add(logits, labels, own_[i]);
  if (!compares_numbers_ && !compares_classes_) return;
  const std::vector<double> outputs = numbers_of(logits), given = numbers_of(labels);
  if (compares_numbers_) {
    if (outputs.size() != given.size()) {
      throw InvalidArgument("[metrics] mae, mse and r2 compare numbers, got labels {} for {}, expected one for each",
                            print(labels.type()), print(logits.type()));
    }
    add_numbers(outputs, given, logits.type().elements() / std::max<int64_t>(1, logits.shape()[0]));
  }
  if (compares_classes_) add_classes(outputs, given, logits.shape().back(), ignored);
}

void RowMetrics::add_numbers(const std::vector<double>& outputs, const std::vector<double>& labels, int64_t columns) {
  for (auto* sums : {&absolute_, &squared_, &mean_, &spread_}) sums->resize(static_cast<size_t>(columns));
  for (size_t begin = 0; begin < outputs.size(); begin += static_cast<size_t>(columns)) {
    ++rows_;
    for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
      const double label = labels[begin + c], error = outputs[begin + c] - label, before = label - mean_[c];
      absolute_[c] += std::abs(error);
      squared_[c] += error * error;
      mean_[c] += before / rows_;  // Welford, 1962
      spread_[c] += before * (label - mean_[c]);
    }
  }
}

void RowMetrics::add_classes(const std::vector<double>& outputs, const std::vector<double>& labels, int64_t classes,
                             std::optional<int64_t> ignored) {
  for (auto* counts : {&hits_, &predicted_, &actual_}) counts->resize(static_cast<size_t>(classes));
  const bool are_ids = labels.size() != outputs.size();
  const auto rows = static_cast<int64_t>(outputs.size()) / classes;
  for (int64_t row = 0; row < rows; ++row) {
    const double *own = outputs.data() + row * classes, *given = labels.data() + (are_ids ? row : row * classes);
    if (options_.is_multilabel && !are_ids) {
      for (int64_t k = 0; k < classes; ++k) {
        const bool is_predicted = own[k] > 0, is_actual = given[k] > 0.5;
        const auto at = static_cast<size_t>(k);
        hits_[at] += is_predicted && is_actual;
        predicted_[at] += is_predicted;
        actual_[at] += is_actual;
      }
      continue;
    }
    const int64_t label = are_ids ? static_cast<int64_t>(*given) : largest(given, classes);
    if ((are_ids && label == ignored) || label < 0 || label >= classes) continue;
    const int64_t answer = largest(own, classes);
    hits_[static_cast<size_t>(label)] += answer == label;
    ++predicted_[static_cast<size_t>(answer)];
    ++actual_[static_cast<size_t>(label)];
  }
}

/// Sums over the ranks. Those without rows know neither columns nor classes.
void RowMetrics::reduce(Communicator& comm) {
  double sizes[] = {static_cast<double>(absolute_.size()), static_cast<double>(hits_.size())};
  comm.all_reduce(sizes, 2, DType::f64, Reduce::max);
  for (auto* sums : {&absolute_, &squared_, &mean_, &spread_}) sums->resize(static_cast<size_t>(sizes[0]));
  for (auto* counts : {&hits_, &predicted_, &actual_}) counts->resize(static_cast<size_t>(sizes[1]));
  const double own_rows = rows_;
  const std::vector<double> own_mean = mean_;
  for (double& mean : mean_) mean *= own_rows;
  std::vector<std::span<double>> parts{{&rows_, 1}, absolute_, squared_, mean_, hits_, predicted_, actual_};
  for (std::vector<double>& sums : own_) parts.emplace_back(sums);
  std::vector<double> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  comm.all_reduce(all.data(), static_cast<int64_t>(all.size()), DType::f64, Reduce::sum);
  const double* next = all.data();
  for (const auto& part : parts) {
    std::copy_n(next, part.size(), part.begin());
    next += part.size();
  }
  // Sums of squared deviations are joined by those of the means (Chan, Golub and LeVeque, 1979).
  for (size_t c = 0; c < mean_.size(); ++c) {
    mean_[c] /= std::max(1.0, rows_);
    spread_[c] += own_rows * (own_mean[c] - mean_[c]) * (own_mean[c] - mean_[c]);
  }
  if (!spread_.empty()) {
    comm.all_reduce(spread_.data(), static_cast<int64_t>(spread_.size()), DType::f64, Reduce::sum);
  }
}

double RowMetrics::number_of(const std::string& name) const {
  double sum = 0;
  for (size_t c = 0; c < absolute_.size(); ++c) {
    if (name == "mae") sum += absolute_[c] / rows_;
    if (name == "mse") sum += squared_[c] / rows_;
    if (name == "r2") sum += spread_[c] > 0 ? 1 - squared_[c] / spread_[c] : squared_[c] > 0 ? 0 : 1;
  }
  return sum / static_cast<double>(std::max<size_t>(1, absolute_.size()));
}

double RowMetrics::class_rate(const std::string& name) const {
  const size_t classes = hits_.size();
  if (name.ends_with("_binary")) {
    if (classes == 2 || (options_.is_multilabel && classes == 1)) {
      return rate(name, hits_.back(), predicted_.back(), actual_.back());
    }
    throw InvalidArgument("[metrics] {} is of two classes, got {}, expected {}macro or {}micro", name, classes,
                          name.substr(0, name.size() - 6), name.substr(0, name.size() - 6));
  }
  double hits = 0, predicted = 0, actual = 0, sum = 0, count = 0;
  for (size_t k = 0; k < classes; ++k) {
    hits += hits_[k];
    predicted += predicted_[k];
    actual += actual_[k];
    if (!options_.is_multilabel && predicted_[k] + actual_[k] == 0) continue;
    sum += rate(name, hits_[k], predicted_[k], actual_[k]);
    ++count;
  }
  return name.ends_with("_micro") ? rate(name, hits, predicted, actual) : share(sum, count);
}

std::vector<Measured> RowMetrics::reduced(const Metrics& metrics, Communicator& comm) {
  if (reads_rows()) reduce(comm);
  std::vector<Measured> measured;
  for (const std::string& name : options_.names) {
    const double value = name == "perplexity"       ? std::exp(metrics.loss)
                         : name == "top_k_accuracy" ? metrics.top_accuracy()
                         : compares_numbers(name)   ? number_of(name)
                                                    : class_rate(name);
    measured.push_back({name, value, is_lower_better(name)});
  }
  for (size_t i = 0; i < own_.size(); ++i) {
    const OwnMetric& own = options_.own[i];
    measured.push_back({own.name, own.value(own_[i]), own.lower_is_better});
  }
  return measured;
}

}  // namespace partita
