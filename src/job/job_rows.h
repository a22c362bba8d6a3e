#pragma once
// Rows of the data that a configuration names.

#include "frontend/data/open_dataset.h"
#include "job/config.h"

namespace partita {

class JobRows {
 public:
  /// Sets the rows to those of `config.data`, generated ones if it names none, for a network that reads `format`. Opens
  /// nothing. The format's `resize`, `augment`, `dtype`, `seed` and ignored label are taken from `config`.
  JobRows(const JobConfig& config, RowFormat format);
  /// Sets the rows to `own_rows`, which the model `name` brings along. If they are null, sets them as the other
  /// constructor does.
  JobRows(const JobConfig& config, RowFormat format, std::string name, DatasetPtr own_rows);

  /// Whether rows are generated because neither the configuration nor the model names any.
  bool is_generated() const { return is_generated_; }
  const DataSource& source() const { return source_; }
  const RowFormat& format() const { return format_; }
  /// Whether the source has rows of the split. A model's own rows are training rows only. Throws MissingFile or
  /// InvalidFile if a single .npz, which it opens for test rows, cannot be opened or is damaged.
  bool has_rows(Split split) const;
  DatasetPtr rows(Split split) const;
  /// Returns the columns of the training rows. Rows are not read if the kind of the source determines the columns.
  /// Throws InvalidArgument if the network does not read rows of this shape. For NumPy files throws also MissingFile,
  /// InvalidFile and RuntimeFailure(out_of_memory), as `open_dataset` does.
  std::vector<Column> columns() const;
  /// Whether the model brings its rows along.
  bool are_own() const { return own_rows_ != nullptr; }
  /// Returns the source as text, as flags name it, or the name of the model that brings its rows along.
  std::string print_source() const;
  /// Returns the kind and size of generated rows: "images, 28x28", "texts, 128 letters" or "records, 8 ids".
  std::string print_generated() const;
  /// Returns a warning if the source, CIFAR-10, lacks some files of its training rows, else an empty string. `rows`:
  /// the number of rows that are there. Throws MissingFile if all batches, or others than the last ones, are missing.
  std::string missing_part(int64_t rows) const;

 private:
  bool is_generated_;
  DataSource source_;
  RowFormat format_;
  std::string name_{};
  DatasetPtr own_rows_ = nullptr;
};

}  // namespace partita
