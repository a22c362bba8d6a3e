#include "frontend/data/views/map.h"

#include <algorithm>

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class Map : public SourceView {
 public:
  Map(DatasetPtr source, std::vector<size_t> mapped, ValueMapPtr fn)
      : SourceView(std::move(source)), mapped_(std::move(mapped)), fn_(std::move(fn)) {
    for (size_t c : mapped_) columns_[c].type = fn_->type(columns_[c].type);
  }

  std::optional<IntegerRange> integers(size_t column) const override {
    const bool is_mapped = std::ranges::find(mapped_, column) != mapped_.end();
    return !is_mapped || fn_->keeps_integers() ? source_->integers(column) : std::nullopt;
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    // Mapped columns are read into scratch memory, the others directly into the batch.
    const int64_t rows = static_cast<int64_t>(indices.size());
    std::vector<Tensor> read(out.begin(), out.end());
    std::vector<Array> aside;
    for (size_t c : mapped_) {
      aside.emplace_back(batch_type(source_->columns()[c].type, rows));
      read[c] = aside.back().tensor();
    }
    source_->read(epoch, indices, read);
    for (size_t c : mapped_) apply_column(epoch, indices, c, read[c], out[c]);
  }

 private:
  void apply_column(int64_t epoch, std::span<const int64_t> indices, size_t column, const Tensor& before,
                    const Tensor& after) const {
    ConstTensor in{source_->columns()[column].type, before.data};
    Tensor out{columns_[column].type, after.data};
    const int64_t in_bytes = in.type.bytes();
    const int64_t out_bytes = out.type.bytes();
    for (int64_t index : indices) {
      fn_->apply(in, out, {epoch, source_->sample(epoch, index)});
      in.data = static_cast<const std::byte*>(in.data) + in_bytes;
      out.data = static_cast<std::byte*>(out.data) + out_bytes;
    }
  }

  std::vector<size_t> mapped_;  // positions of the columns
  ValueMapPtr fn_;
};

}  // namespace

DatasetPtr map(DatasetPtr dataset, const std::vector<std::string>& columns, ValueMapPtr fn) {
  std::vector<size_t> mapped;
  for (const std::string& name : columns) {
    const size_t column = find_column(*dataset, name);
    if (std::ranges::find(mapped, column) != mapped.end()) {
      throw InvalidArgument("[map] repeated column, got '{}' twice, expected it once", name);
    }
    mapped.push_back(column);
  }
  return std::make_shared<Map>(std::move(dataset), std::move(mapped), std::move(fn));
}

}  // namespace partita
