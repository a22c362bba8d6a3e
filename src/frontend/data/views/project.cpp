#include "frontend/data/views/project.h"

#include <algorithm>

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

constexpr size_t kDropped = SIZE_MAX;

class Project : public SourceView {
 public:
  /// Takes the columns of the view in `columns`, and in `target`, per column of the source, its position in the view or
  /// kDropped.
  Project(DatasetPtr source, std::vector<size_t> target, std::vector<Column> columns)
      : SourceView(std::move(source), std::move(columns)), target_(std::move(target)) {}

  std::optional<IntegerRange> integers(size_t column) const override {
    const auto found = std::ranges::find(target_, column);
    return source_->integers(static_cast<size_t>(found - target_.begin()));
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    std::vector<Tensor> read;
    std::vector<Array> aside;  // the dropped columns
    aside.reserve(target_.size());
    for (size_t c = 0; c < target_.size(); ++c) {
      if (target_[c] != kDropped) {
        read.push_back(out[target_[c]]);
        continue;
      }
      aside.emplace_back(batch_type(source_->columns()[c].type, static_cast<int64_t>(indices.size())));
      read.push_back(aside.back().tensor());
    }
    source_->read(epoch, indices, read);
  }

 private:
  std::vector<size_t> target_;
};

}  // namespace

DatasetPtr project(DatasetPtr dataset, const std::vector<std::string>& names) {
  if (names.empty()) throw InvalidArgument("[project] no columns, got an empty list, expected one or more");
  std::vector<size_t> target(dataset->columns().size(), kDropped);
  std::vector<Column> columns;
  for (const std::string& name : names) {
    const size_t column = find_column(*dataset, name);
    columns.push_back(dataset->columns()[column]);
    target[column] = columns.size() - 1;
  }
  check_distinct(columns);
  return std::make_shared<Project>(std::move(dataset), std::move(target), std::move(columns));
}

}  // namespace partita
