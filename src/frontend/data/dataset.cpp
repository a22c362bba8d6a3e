#include "frontend/data/dataset.h"

#include <algorithm>
#include <set>

namespace partita {
namespace {

bool is_batch_of(const Type& batch, const Type& type, size_t rows) {
  return batch.dtype == type.dtype && batch.shape.size() == type.shape.size() + 1 &&
         batch.shape[0] == static_cast<int64_t>(rows) &&
         std::equal(type.shape.begin(), type.shape.end(), batch.shape.begin() + 1);
}

}  // namespace

void Dataset::read(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const {
  if (epoch < 0 || epoch > kMaxEpochs) {
    throw InvalidArgument("[dataset] bad epoch, got {}, expected 0 to {}", epoch, kMaxEpochs);
  }
  const int64_t rows = size();
  for (int64_t index : indices) {
    if (index >= 0 && index < rows) continue;
    throw InvalidArgument(ErrorKind::index, "[dataset] row index out of range, got {}, expected 0 <= index < {}", index,
                          rows);
  }
  const std::vector<Column>& all = columns();
  PARTITA_CHECK(out.size() == all.size(), "{} tensors for {} columns", out.size(), all.size());
  for (size_t c = 0; c < all.size(); ++c) {
    PARTITA_CHECK(is_batch_of(out[c].type, all[c].type, indices.size()), "{} for {} rows of {}", print(out[c].type),
                  indices.size(), print(all[c].type));
  }
  if (!indices.empty()) fill(epoch, indices, out);
}

Row Dataset::row(int64_t epoch, int64_t index) const {
  Row row;
  std::vector<Tensor> out;
  row.reserve(columns().size());
  for (const Column& column : columns()) {
    row.emplace_back(column.type);
    out.push_back({batch_type(column.type, 1), row.back().data()});
  }
  read(epoch, {&index, 1}, out);
  return row;
}

size_t find_column(const Dataset& dataset, std::string_view name) {
  std::vector<std::string> names;
  for (const Column& column : dataset.columns()) {
    if (column.name == name) return names.size();
    names.push_back(column.name);
  }
  throw unknown_name("[dataset] unknown column", name, fmt::format("one of {}", fmt::join(names, ", ")), names);
}

bool have_functions(const std::vector<DatasetPtr>& datasets) {
  return std::ranges::any_of(datasets, [](const DatasetPtr& one) { return one->has_functions(); });
}

void check_distinct(const std::vector<Column>& columns) {
  std::set<std::string> names;
  for (const Column& column : columns) {
    if (names.insert(column.name).second) continue;
    throw InvalidArgument("[dataset] repeated column, got '{}' twice, expected it once", column.name);
  }
}

Type batch_type(const Type& type, int64_t rows) {
  Type batch{type.dtype, {rows}};
  batch.shape.insert(batch.shape.end(), type.shape.begin(), type.shape.end());
  return batch;
}

std::vector<Tensor> slice_rows(std::span<const Tensor> batch, int64_t first, int64_t count) {
  std::vector<Tensor> rows(batch.begin(), batch.end());
  for (Tensor& tensor : rows) {
    const int64_t row_bytes = tensor.type.shape[0] == 0 ? 0 : tensor.type.bytes() / tensor.type.shape[0];
    tensor.type.shape[0] = count;
    tensor.data = static_cast<std::byte*>(tensor.data) + first * row_bytes;
  }
  return rows;
}

}  // namespace partita
