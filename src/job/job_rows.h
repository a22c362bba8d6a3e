#pragma once
// The rows that a configuration names.

#include "frontend/data/open_dataset.h"
#include "job/config.h"

namespace partita {

class JobRows {
 public:
  /// Rows of `config.data` for a network that reads `format`, whose `resize`, `augment`, `dtype`, `seed` and ignored
  /// label are those of the configuration.
  JobRows(const JobConfig& config, RowFormat format);
  /// Rows that the model `name` brings along.
  JobRows(const JobConfig& config, RowFormat format, std::string name, DatasetPtr own_rows);

  /// Whether rows are generated because no source was given.
  bool is_generated() const { return is_generated_; }
  const DataSource& source() const { return source_; }
  const RowFormat& format() const { return format_; }
  /// False when the source has no such rows.
  bool has_rows(Split split) const;
  DatasetPtr rows(Split split) const;
  /// The columns of `rows`, without reading them where the kind of the source says it.
  std::vector<Column> columns() const;
  /// Whether a model brings its rows along.
  bool are_own() const { return own_rows_ != nullptr; }
  /// The source, or the name of the model that brings its rows along.
  std::string print_source() const;
  /// What rows are generated: "images, 28x28".
  std::string print_generated() const;
  /// Returns a warning if the source lacks a part of the rows of a training, else an empty string.
  std::string missing_part(int64_t rows) const;

 private:
  bool is_generated_;
  DataSource source_;
  RowFormat format_;
  std::string name_{};
  DatasetPtr own_rows_ = nullptr;
};

}  // namespace partita
