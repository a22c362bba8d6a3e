#include "frontend/data/loading/batch.h"

#include <algorithm>
#include <numeric>

namespace partita {
namespace {

constexpr int64_t kMaxReaders = 65'536;
constexpr int64_t kMaxRows = int64_t{1} << 40;  // maximum rows of a global batch: r * rows stays exact

}  // namespace

RowRange rows_of_rank(int64_t rows, int64_t rank, int64_t ranks) {
  return {rank * rows / ranks, (rank + 1) * rows / ranks};
}

Batcher::Batcher(DatasetPtr dataset, BatchOptions options)
    : dataset_(std::move(dataset)), options_(options), rows_(dataset_->size()) {
  if (rows_ == 0) {
    throw InvalidArgument("[batch] empty dataset, got 0 rows, expected 1 or more");
  }
  if (options.batch < 1 || options.batch > kMaxRows) {
    throw InvalidArgument("[batch] bad batch size, got {}, expected 1 to {}", options.batch, kMaxRows);
  }
  if (options.drop_remainder && options.batch > rows_) {
    throw InvalidArgument("[batch] batch larger than the dataset, got {}, expected at most {}, or drop_remainder=false",
                          options.batch, rows_);
  }
  if (options.ranks < 1 || options.ranks > kMaxReaders) {
    throw InvalidArgument("[batch] bad number of ranks, got {}, expected 1 to {}", options.ranks, kMaxReaders);
  }
  if (options.micro_batches < 1 || options.batch % options.micro_batches != 0 ||
      (options.micro_batches > 1 && !options.drop_remainder)) {
    throw InvalidArgument(
        "[batch] bad number of micro-batches, got {} of batch {}{}, expected a divisor of whole batches",
        options.micro_batches, options.batch, options.drop_remainder ? "" : " with a remainder");
  }
  if (options.rank < 0 || options.rank >= options.ranks) {
    throw InvalidArgument("[batch] bad rank, got {}, expected 0 <= rank < {}", options.rank, options.ranks);
  }
}

int64_t Batcher::batches() const {
  const bool partial = !options_.drop_remainder && rows_ % options_.batch != 0;
  return rows_ / options_.batch + partial;
}

Batch Batcher::batch(int64_t epoch, int64_t index) const {
  Batch batch;
  read(epoch, index, batch);
  return batch;
}

void Batcher::read(int64_t epoch, int64_t index, Batch& out) const {
  if (index < 0 || index >= batches()) {
    throw InvalidArgument(ErrorKind::index, "[batch] batch index out of range, got {}, expected 0 <= index < {}", index,
                          batches());
  }
  const int64_t start = index * options_.batch;
  const int64_t global_rows = std::min(options_.batch, rows_ - start);
  const int64_t rows = global_rows / options_.micro_batches;
  const RowRange range = rows_of_rank(rows, options_.rank, options_.ranks);
  std::vector<int64_t> indices(static_cast<size_t>(range.size() * options_.micro_batches));
  for (int64_t m = 0; m < options_.micro_batches; ++m) {
    const auto first = indices.begin() + m * range.size();
    std::iota(first, first + range.size(), start + m * rows + range.first);
  }

  prepare(out, static_cast<int64_t>(indices.size()));
  out.epoch = epoch;
  out.index = index;
  std::vector<Tensor> tensors;
  for (Array& array : out.arrays) tensors.push_back(array.tensor());
  dataset_->read(epoch, indices, tensors);
}

void Batcher::prepare(Batch& out, int64_t rows) const {
  out.columns = columns();
  out.arrays.resize(out.columns.size());
  for (size_t c = 0; c < out.columns.size(); ++c) {
    const Type type = batch_type(out.columns[c].type, rows);
    if (out.arrays[c].type() != type) out.arrays[c] = Array(type);
  }
}

}  // namespace partita
