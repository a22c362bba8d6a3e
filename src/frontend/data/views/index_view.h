#pragma once
// Base of the views that only select rows of another dataset.

#include "frontend/data/dataset.h"

namespace partita {

/// A dataset with the columns of its source. Derived classes define `size` and `source_row`.
class IndexView : public Dataset {
 public:
  explicit IndexView(DatasetPtr source) : source_(std::move(source)) {}
  const std::vector<Column>& columns() const override { return source_->columns(); }
  int64_t sample(int64_t epoch, int64_t index) const override;
  bool has_functions() const override { return source_->has_functions(); }

 protected:
  struct SourceRow {
    int64_t epoch;
    int64_t index;
  };
  /// Returns the place of the view's row `index` of `epoch` in the source: its epoch and index there.
  virtual SourceRow source_row(int64_t epoch, int64_t index) const = 0;
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override;

  DatasetPtr source_;
};

}  // namespace partita
