#include "frontend/data/views/rename.h"

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class Rename : public SourceView {
 public:
  using SourceView::SourceView;
  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    source_->read(epoch, indices, out);
  }
};

}  // namespace

DatasetPtr rename(DatasetPtr dataset, const std::vector<std::string>& names) {
  std::vector<Column> columns = dataset->columns();
  if (names.size() != columns.size()) {
    throw InvalidArgument("[rename] bad number of names, got {}, expected {}: one for each column", names.size(),
                          columns.size());
  }
  for (size_t c = 0; c < names.size(); ++c) columns[c].name = names[c];
  check_distinct(columns);
  return std::make_shared<Rename>(std::move(dataset), std::move(columns));
}

}  // namespace partita
