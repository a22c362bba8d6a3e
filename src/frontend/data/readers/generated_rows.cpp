#include "frontend/data/readers/generated_rows.h"

#include <cstring>

#include "frontend/data/readers/memory_rows.h"

namespace partita {
namespace {

class GeneratedRows : public Dataset {
 public:
  GeneratedRows(std::vector<Column> columns, int64_t size, RowFunction make)
      : columns_(std::move(columns)), size_(size), make_(std::move(make)) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return size_; }
  bool has_functions() const override { return true; }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      std::vector<Tensor> row = slice_rows(out, static_cast<int64_t>(i), 1);
      for (size_t c = 0; c < row.size(); ++c) row[c].type = columns_[c].type;
      make_(epoch, indices[i], row);
    }
  }

 private:
  std::vector<Column> columns_;
  int64_t size_;
  RowFunction make_;
};

void check_columns(const std::vector<Column>& columns) {
  if (columns.empty()) throw InvalidArgument("[generated rows] no columns, got an empty list, expected one or more");
  check_distinct(columns);
}

}  // namespace

DatasetPtr generated_rows(std::vector<Column> columns, int64_t size, RowFunction make) {
  check_columns(columns);
  if (size < 0) throw InvalidArgument("[generated rows] bad size, got {}, expected 0 or more", size);
  if (!make) throw InvalidArgument("[generated rows] no function, got an empty one, expected one that makes a row");
  return std::make_shared<GeneratedRows>(std::move(columns), size, std::move(make));
}

DatasetPtr collected_rows(std::vector<Column> columns, const std::function<bool(std::span<const Tensor> row)>& next) {
  check_columns(columns);
  std::vector<Array> row;
  std::vector<Tensor> tensors;
  for (const Column& column : columns) row.emplace_back(column.type);
  for (Array& array : row) tensors.push_back(array.tensor());
  std::vector<std::vector<std::byte>> bytes(columns.size());
  int64_t rows = 0;
  for (; next(tensors); ++rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const auto* from = static_cast<const std::byte*>(row[c].data());
      bytes[c].insert(bytes[c].end(), from, from + row[c].type().bytes());
    }
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (size_t c = 0; c < columns.size(); ++c) {
    Array all(batch_type(columns[c].type, rows));
    if (!bytes[c].empty()) std::memcpy(all.data(), bytes[c].data(), bytes[c].size());
    bytes[c] = {};
    arrays.emplace_back(columns[c].name, std::move(all));
  }
  return memory_rows(std::move(arrays));
}

}  // namespace partita
