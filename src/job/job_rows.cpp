#include "job/job_rows.h"

#include "frontend/data/readers/cifar10.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/map.h"

namespace partita {
namespace {

RowFormat completed_format(RowFormat format, const JobConfig& config) {
  format.resize = config.data.resize;
  format.augment = config.data.augment;
  format.text.separates_documents = config.data.separate_documents;
  format.dtype = config.training.dtype;
  format.seed = config.training.seed;
  format.ignored_label = config.training.ignore_index;
  return format;
}

}  // namespace

JobRows::JobRows(const JobConfig& config, RowFormat format)
    : is_generated_(!config.data.source),
      source_(config.data.source.value_or(DataSource())),
      format_(completed_format(std::move(format), config)) {}

JobRows::JobRows(const JobConfig& config, RowFormat format, std::string name, DatasetPtr own_rows)
    : JobRows(config, std::move(format)) {
  name_ = std::move(name);
  own_rows_ = std::move(own_rows);
  is_generated_ = is_generated_ && own_rows_ == nullptr;
}

bool JobRows::has_rows(Split split) const {
  return own_rows_ == nullptr ? partita::has_rows(source_, split) : split == Split::train;
}

DatasetPtr JobRows::rows(Split split) const {
  if (own_rows_ == nullptr) return open_dataset(source_, split, format_);
  if (format_.dtype == DType::f32) return own_rows_;
  std::vector<std::string> names;
  for (const Column& column : own_rows_->columns()) names.push_back(column.name);
  return map(own_rows_, names, cast(format_.dtype));
}

std::vector<Column> JobRows::columns() const {
  return own_rows_ == nullptr ? columns_of(source_, format_) : rows(Split::train)->columns();
}

std::string JobRows::print_source() const { return own_rows_ != nullptr ? name_ : print(source_); }

std::string JobRows::print_generated() const {
  if (format_.is_text()) return fmt::format("texts, {} letters", format_.text.tokens);
  if (format_.is_records()) return fmt::format("records, {} ids", format_.records.ids);
  return fmt::format("images, {}x{}", format_.image.shape[0], format_.image.shape[1]);
}

std::string JobRows::missing_part(int64_t rows) const {
  if (own_rows_ != nullptr || source_.kind != DataKind::cifar10) return "";
  const int batches = count_cifar10_batches(source_.paths[0]);
  if (batches == kCifar10Batches) return "";
  return fmt::format("[cifar10] {} of {} batches in '{}': training on {} rows", batches, kCifar10Batches,
                     source_.paths[0], rows);
}

}  // namespace partita
