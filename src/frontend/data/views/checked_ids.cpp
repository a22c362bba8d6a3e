#include "frontend/data/views/checked_ids.h"

#include <algorithm>

#include "base/number.h"
#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

/// A limit and the position of its column.
struct ColumnLimit {
  size_t column = 0;
  IdLimit limit;
};

[[noreturn]] void refuse_id(const IdLimit& limit, const FoundInteger& found) {
  const std::string text = fmt::format("[ids] '{}' is outside of table '{}', got {} at {}, expected 0 to {}",
                                       limit.column, limit.table, found.value, found.place, limit.rows - 1);
  if (found.is_in_file) throw InvalidFile(text);
  throw InvalidArgument(text, ErrorKind::index);
}

void require_within(const IdLimit& limit, const IntegerRange& range) {
  if (range.least.value < 0) refuse_id(limit, range.least);
  if (range.greatest.value >= limit.rows) refuse_id(limit, range.greatest);
}

class CheckedIds : public SourceView {
 public:
  CheckedIds(DatasetPtr source, std::vector<ColumnLimit> limits)
      : SourceView(std::move(source)), limits_(std::move(limits)) {}

  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    source_->read(epoch, indices, out);
    for (const ColumnLimit& one : limits_) {
      const Type& row = columns()[one.column].type;
      const Tensor& batch = out[one.column];
      for_dtype(row.dtype, [&](auto zero) {
        const auto* numbers = batch.as<decltype(zero)>();
        const int64_t count = batch.type.elements();
        for (int64_t i = 0; i < count; ++i) {
          const auto id = convert<int64_t>(numbers[i]);
          if (id >= 0 && id < one.limit.rows) continue;
          const int64_t index = indices[static_cast<size_t>(i / row.elements())];
          refuse_id(one.limit, {.value = id, .place = fmt::format("row {} of epoch {}", index, epoch)});
        }
      });
    }
  }

 private:
  std::vector<ColumnLimit> limits_;
};

}  // namespace

DatasetPtr checked_ids(DatasetPtr dataset, const std::vector<IdLimit>& limits) {
  std::vector<ColumnLimit> unknown;
  const std::vector<Column>& columns = dataset->columns();
  for (size_t c = 0; c < columns.size(); ++c) {
    for (const IdLimit& limit : limits) {
      if (limit.column != columns[c].name) continue;
      if (const std::optional<IntegerRange> range = dataset->integers(c)) {
        require_within(limit, *range);
      } else {
        unknown.push_back({c, limit});
      }
    }
  }
  return unknown.empty() ? dataset : std::make_shared<CheckedIds>(std::move(dataset), std::move(unknown));
}

}  // namespace partita
