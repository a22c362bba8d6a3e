#include "frontend/data/views/zip.h"

#include <algorithm>

namespace partita {
namespace {

class Zip : public Dataset {
 public:
  Zip(std::vector<DatasetPtr> sources, std::vector<Column> columns)
      : sources_(std::move(sources)), columns_(std::move(columns)) {
    const auto shortest =
        std::ranges::min_element(sources_, [](const auto& a, const auto& b) { return a->size() < b->size(); });
    size_ = (*shortest)->size();
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return size_; }
  bool has_functions() const override { return have_functions(sources_); }
  int64_t sample(int64_t epoch, int64_t index) const override { return sources_[0]->sample(epoch, index); }
  std::optional<IntegerRange> integers(size_t column) const override {
    for (const DatasetPtr& source : sources_) {
      const size_t count = source->columns().size();
      if (column < count) return source->size() == size_ ? source->integers(column) : std::nullopt;
      column -= count;
    }
    return std::nullopt;
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    for (const DatasetPtr& source : sources_) {
      const size_t count = source->columns().size();
      source->read(epoch, indices, out.first(count));
      out = out.subspan(count);
    }
  }

 private:
  std::vector<DatasetPtr> sources_;
  std::vector<Column> columns_;
  int64_t size_ = 0;
};

}  // namespace

DatasetPtr zip(std::vector<DatasetPtr> datasets) {
  if (datasets.empty()) throw InvalidArgument("[zip] no datasets, got an empty list, expected one or more");
  std::vector<Column> columns;
  for (const DatasetPtr& dataset : datasets) {
    columns.insert(columns.end(), dataset->columns().begin(), dataset->columns().end());
  }
  check_distinct(columns);
  return std::make_shared<Zip>(std::move(datasets), std::move(columns));
}

}  // namespace partita
