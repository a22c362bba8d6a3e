#include "frontend/data/views/part.h"

#include <algorithm>

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

/// The rows [first, first + count) of a dataset, which has them.
class Part : public IndexView {
 public:
  Part(DatasetPtr source, int64_t first, int64_t count) : IndexView(std::move(source)), first_(first), count_(count) {}
  int64_t size() const override { return count_; }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override { return {epoch, index + first_}; }

 private:
  int64_t first_, count_;
};

/// Returns `count`, or the number of rows if that is less. Throws InvalidArgument, naming `view`, if it is negative.
int64_t rows_within(std::string_view view, const Dataset& dataset, int64_t count) {
  if (count >= 0) return std::min(count, dataset.size());
  throw InvalidArgument("[{}] bad number of rows, got {}, expected 0 or more", view, count);
}

}  // namespace

DatasetPtr take(DatasetPtr dataset, int64_t count) {
  const int64_t taken = rows_within("take", *dataset, count);
  return std::make_shared<Part>(std::move(dataset), 0, taken);
}

DatasetPtr skip(DatasetPtr dataset, int64_t count) {
  const int64_t first = rows_within("skip", *dataset, count), rest = dataset->size() - first;
  return std::make_shared<Part>(std::move(dataset), first, rest);
}

}  // namespace partita
