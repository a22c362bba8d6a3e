#include "training/report/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/convert_elements.h"
#include "base/names.h"

namespace partita {
namespace {

/// Returns the index of the first largest element, or -1 if an element is NaN.
template <class T>
int64_t argmax(const T* row, int64_t classes) {
  int64_t best = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const auto value = static_cast<double>(row[i]);
    if (std::isnan(value)) return -1;
    if (value > static_cast<double>(row[best])) best = i;
  }
  return best;
}

std::vector<int64_t> row_argmax(const ConstTensor& tensor, int64_t classes) {
  std::vector<int64_t> best(static_cast<size_t>(tensor.type.elements() / classes));
  for_dtype(tensor.type.dtype, [&](auto zero) {
    const auto* data = tensor.as<decltype(zero)>();
    for (size_t i = 0; i < best.size(); ++i) best[i] = argmax(data + static_cast<int64_t>(i) * classes, classes);
  });
  return best;
}

std::vector<int64_t> ids_of(const ConstTensor& labels) {
  std::vector<int64_t> ids(static_cast<size_t>(labels.type.elements()));
  PARTITA_CHECK(!is_float(labels.type.dtype), "ids of {}", print(labels.type));
  convert_elements(labels.type.dtype, labels.data, DType::i64, ids.data(), labels.type.elements());
  return ids;
}

template <class T>
bool is_in_top(const T* row, int64_t classes, int64_t label, int64_t top) {
  if (label < 0 || label >= classes) return false;
  const auto own = static_cast<double>(row[label]);
  int64_t before = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const auto value = static_cast<double>(row[i]);
    if (std::isnan(value)) return false;
    before += value > own || (value == own && i < label);
  }
  return before < top;
}

}  // namespace

Measured Metrics::find(std::string_view name) const {
  std::vector<Measured> all = measured;
  all.push_back({"loss", loss, true});
  if (classified) all.push_back({"accuracy", accuracy(), false});
  std::vector<std::string> names;
  for (const Measured& one : all) names.push_back(one.name);
  return all[position_of_name("metrics", name, names)];
}

int64_t count_ignored(const ConstTensor& labels, int64_t ignored) {
  const std::vector<int64_t> ids = ids_of(labels);
  return std::ranges::count(ids, ignored);
}

int64_t count_correct(const ConstTensor& logits, const ConstTensor& labels, int64_t top,
                      std::optional<int64_t> ignored) {
  const Shape& shape = logits.type.shape;
  const bool one_hot = labels.type.shape == shape;
  const bool ids =
      !is_float(labels.type.dtype) && !shape.empty() && labels.type.shape == Shape(shape.begin(), shape.end() - 1);
  if (shape.empty() || shape.back() == 0 || (!one_hot && !ids)) {
    throw InvalidArgument("[accuracy] labels do not fit the logits, got {} for {}", print(labels.type),
                          print(logits.type));
  }
  const int64_t classes = shape.back();
  const auto expected = one_hot ? row_argmax(labels, classes) : ids_of(labels);
  int64_t correct = 0;
  for_dtype(logits.type.dtype, [&](auto zero) {
    const auto* row = logits.as<decltype(zero)>();
    for (const int64_t label : expected) {
      correct += (one_hot || label != ignored) && is_in_top(row, classes, label, top);
      row += classes;
    }
  });
  return correct;
}

int64_t count_below(const ConstTensor& places, const ConstTensor& labels, int64_t top, std::optional<int64_t> ignored) {
  PARTITA_CHECK(places.type == (Type{DType::i64, labels.type.shape}), "{} for {}", print(places.type),
                print(labels.type));
  const std::vector<int64_t> ids = ids_of(labels);
  const int64_t* place = places.as<int64_t>();
  int64_t count = 0;
  for (const int64_t id : ids) count += *place++ < top && id != ignored;
  return count;
}

int64_t count_non_finite(const ConstTensor& logits) {
  const int64_t classes = logits.type.shape.back();
  int64_t rows = 0;
  if (!is_float(logits.type.dtype)) return rows;
  for_float(logits.type.dtype, [&](auto zero) {
    const auto* data = logits.as<decltype(zero)>();
    const auto is_finite = [](auto value) { return std::isfinite(static_cast<double>(value)); };
    for (const auto* row = data; row != data + logits.type.elements(); row += classes) {
      rows += !std::all_of(row, row + classes, is_finite);
    }
  });
  return rows;
}

void check_finite(const Metrics& metrics) {
  if (metrics.non_finite == 0 && std::isfinite(metrics.loss)) return;
  throw RuntimeFailure(ExitCode::non_finite,
                       "[eval] the results are not finite, got NaN or infinite logits in {} of {} rows and a loss of "
                       "{}, expected numbers",
                       metrics.non_finite, metrics.samples,
                       std::isnan(metrics.loss) ? std::abs(metrics.loss) : metrics.loss);
}

}  // namespace partita
