#include "frontend/data/views/unbatch.h"

#include <cstring>

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class Unbatch : public SourceView {
 public:
  Unbatch(DatasetPtr source, std::vector<Column> columns, int64_t rows)
      : SourceView(std::move(source), std::move(columns)), rows_(rows) {}

  int64_t size() const override { return source_->size() * rows_; }
  int64_t sample(int64_t epoch, int64_t index) const override {
    return source_->sample(epoch, index / rows_) * rows_ + index % rows_;
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    Row batch;
    int64_t held = -1;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t at = indices[i] / rows_;
      if (at != held) batch = source_->row(epoch, at);
      held = at;
      for (size_t c = 0; c < columns_.size(); ++c) {
        const auto bytes = static_cast<size_t>(columns_[c].type.bytes());
        if (bytes == 0) continue;
        std::memcpy(static_cast<std::byte*>(out[c].data) + i * bytes,
                    static_cast<const std::byte*>(batch[c].data()) + static_cast<size_t>(indices[i] % rows_) * bytes,
                    bytes);
      }
    }
  }

 private:
  int64_t rows_;
};

}  // namespace

DatasetPtr unbatch(DatasetPtr dataset) {
  std::vector<Column> columns = dataset->columns();
  const Type first = columns.front().type;
  for (Column& column : columns) {
    Shape& shape = column.type.shape;
    if (shape.empty() || first.shape.empty() || shape[0] != first.shape[0] || shape[0] < 1) {
      throw InvalidArgument("[unbatch] no batch in column '{}', got {}, expected as many rows as in {}", column.name,
                            print(column.type), print(first));
    }
    shape.erase(shape.begin());
  }
  return std::make_shared<Unbatch>(std::move(dataset), std::move(columns), first.shape[0]);
}

}  // namespace partita
