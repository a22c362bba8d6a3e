#include "frontend/data/views/rename.h"

namespace partita {
namespace {

class Rename : public Dataset {
 public:
  Rename(DatasetPtr source, std::vector<Column> columns) : source_(std::move(source)), columns_(std::move(columns)) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return source_->size(); }
  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }
  int64_t sample(int64_t epoch, int64_t index) const override { return source_->sample(epoch, index); }
  bool has_functions() const override { return source_->has_functions(); }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    source_->read(epoch, indices, out);
  }

 private:
  DatasetPtr source_;
  std::vector<Column> columns_;
};

}  // namespace

DatasetPtr rename(DatasetPtr dataset, const std::vector<std::string>& names) {
  std::vector<Column> columns = dataset->columns();
  if (names.size() != columns.size()) {
    throw InvalidArgument(fmt::format("[rename] bad number of names, got {}, expected {}: one for each column",
                                      names.size(), columns.size()));
  }
  for (size_t c = 0; c < names.size(); ++c) columns[c].name = names[c];
  check_distinct(columns);
  return std::make_shared<Rename>(std::move(dataset), std::move(columns));
}

}  // namespace partita
