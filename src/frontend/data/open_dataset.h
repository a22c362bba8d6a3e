#pragma once
// The rows of a source, ready for a network: scaled, in the order of a training, in the types that it reads.

#include <optional>

#include "frontend/data/dataset.h"
#include "frontend/data/readers/record_rows.h"
#include "frontend/data/readers/token_rows.h"
#include "frontend/data/source.h"

namespace partita {

inline constexpr int64_t kAnySize = -1;

/// What a network reads, and how rows are prepared for it.
struct RowFormat {
  std::string input = "image";      // the column that it reads besides "label"
  Shape input_shape{};              // of images: [channels,height,width] that it declares, kAnySize; none: any rows
  Type image{};                     // of a generated image: u8[height,width,channels]; of images alone
  TextFormat text{};                // without tokens rows are no text
  RecordFormat records{};           // without ids rows are no records
  int64_t classes = 10;             // of generated labels
  int64_t resize = 0;               // side of the images after resizing; 0: as they are
  bool augment = false;             // random crops and flips of training images
  DType dtype = DType::f32;         // of inputs that are floats
  uint64_t seed = 1;                // of the order of training rows and their augmentation
  bool labels_are_classes = false;  // integer labels of NumPy files are to be in [0, classes)
  std::optional<int64_t> ignored_label = std::nullopt;  // or this one

  bool is_text() const { return text.tokens > 0; }
  bool is_records() const { return records.ids > 0; }
  bool is_images() const { return !is_text() && !is_records(); }
};

inline constexpr int64_t kSyntheticTrainRows = 6000;
inline constexpr int64_t kSyntheticTestRows = 1000;

/// The columns that `open_dataset` gives; opens the files of NumPy alone.
std::vector<Column> columns_of(const DataSource& source, const RowFormat& format);

/// False when no file of these rows is there, or none is named; generated rows always are.
bool has_rows(const DataSource& source, Split split);

/// Columns `input` and "label" (and others of NumPy files, by their names). Bytes of images become (x / 255 - mean) /
/// std with the numbers of the data set, channels first; texts are windows of bytes; numbers of NumPy files stay as
/// they are, floats in `dtype`. Training rows are shuffled anew in every epoch. Throws MissingFile, InvalidFile, and
/// InvalidArgument when the network reads no such rows: those of
/// another kind or shape. Bytes of images are taken to have their channels first where only that fits.
DatasetPtr open_dataset(const DataSource& source, Split split, const RowFormat& format);

}  // namespace partita
