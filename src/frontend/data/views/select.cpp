#include "frontend/data/views/select.h"

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class Selected : public IndexView {
 public:
  Selected(DatasetPtr source, std::vector<int64_t> rows) : IndexView(std::move(source)), rows_(std::move(rows)) {}
  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override {
    return {epoch, rows_[static_cast<size_t>(index)]};
  }

 private:
  std::vector<int64_t> rows_;
};

}  // namespace

DatasetPtr select(DatasetPtr dataset, std::vector<int64_t> rows) {
  for (const int64_t row : rows) {
    if (row >= 0 && row < dataset->size()) continue;
    throw InvalidArgument(ErrorKind::index, "[select] no such row, got {}, expected 0 to {}", row, dataset->size() - 1);
  }
  return std::make_shared<Selected>(std::move(dataset), std::move(rows));
}

}  // namespace partita
