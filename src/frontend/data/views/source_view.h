#pragma once
// Bases of the views of one dataset.

#include "frontend/data/dataset.h"

namespace partita {

/// A dataset with the rows of its source, in other columns if any are given. Derived classes define `fill`.
class SourceView : public Dataset {
 public:
  explicit SourceView(DatasetPtr source) : source_(std::move(source)), columns_(source_->columns()) {}
  SourceView(DatasetPtr source, std::vector<Column> columns)
      : source_(std::move(source)), columns_(std::move(columns)) {}
  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return source_->size(); }
  int64_t sample(int64_t epoch, int64_t index) const override { return source_->sample(epoch, index); }
  bool has_functions() const override { return source_->has_functions(); }

 protected:
  DatasetPtr source_;
  std::vector<Column> columns_;
};

/// A dataset that only selects rows of its source. Derived classes define `source_row`.
class IndexView : public SourceView {
 public:
  using SourceView::SourceView;
  int64_t sample(int64_t epoch, int64_t index) const override;

 protected:
  struct SourceRow {
    int64_t epoch;
    int64_t index;
  };
  /// Returns the place of the view's row `index` of `epoch` in the source: its epoch and index there.
  virtual SourceRow source_row(int64_t epoch, int64_t index) const = 0;
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override;
};

}  // namespace partita
