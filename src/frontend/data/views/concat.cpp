#include "frontend/data/views/concat.h"

#include <algorithm>

namespace partita {
namespace {

class Concat : public Dataset {
 public:
  explicit Concat(std::vector<DatasetPtr> sources) : sources_(std::move(sources)) {
    for (const DatasetPtr& source : sources_) ends_.push_back(size() + source->size());
  }

  const std::vector<Column>& columns() const override { return sources_[0]->columns(); }
  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  bool has_functions() const override { return have_functions(sources_); }
  int64_t sample(int64_t epoch, int64_t index) const override {
    const size_t source = source_of(index);
    return begin_of(source) + sources_[source]->sample(epoch, index - begin_of(source));
  }

  std::optional<IntegerRange> integers(size_t column) const override {
    std::optional<IntegerRange> all = sources_[0]->integers(column);
    for (size_t i = 1; all && i < sources_.size(); ++i) {
      const std::optional<IntegerRange> one = sources_[i]->integers(column);
      if (!one) return std::nullopt;
      if (one->least.value < all->least.value) all->least = one->least;
      if (one->greatest.value > all->greatest.value) all->greatest = one->greatest;
    }
    return all;
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    std::vector<int64_t> run;
    for (size_t first = 0; first < indices.size(); first += run.size()) {
      const size_t source = source_of(indices[first]);
      run.clear();
      for (size_t i = first; i < indices.size() && source_of(indices[i]) == source; ++i) {
        run.push_back(indices[i] - begin_of(source));
      }
      sources_[source]->read(epoch, run,
                             slice_rows(out, static_cast<int64_t>(first), static_cast<int64_t>(run.size())));
    }
  }

 private:
  size_t source_of(int64_t index) const {
    return static_cast<size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
  }
  int64_t begin_of(size_t source) const { return source == 0 ? 0 : ends_[source - 1]; }

  std::vector<DatasetPtr> sources_;
  std::vector<int64_t> ends_;
};

std::string print_columns(const Dataset& dataset) {
  std::vector<std::string> texts;
  for (const Column& column : dataset.columns()) texts.push_back(fmt::format("{} {}", column.name, print(column.type)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

DatasetPtr concat(std::vector<DatasetPtr> datasets) {
  if (datasets.empty()) throw InvalidArgument("[concat] no datasets, got an empty list, expected one or more");
  for (const DatasetPtr& dataset : datasets) {
    const std::string got = print_columns(*dataset), expected = print_columns(*datasets[0]);
    if (got == expected) continue;
    throw InvalidArgument("[concat] columns differ, got {}, expected {}", got, expected);
  }
  return std::make_shared<Concat>(std::move(datasets));
}

}  // namespace partita
