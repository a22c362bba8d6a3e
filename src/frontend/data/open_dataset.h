#pragma once
// Opens the rows of a source ready for a network: scaled, in training order, in the types that it reads.

#include <optional>

#include "frontend/data/dataset.h"
#include "frontend/data/readers/record_rows.h"
#include "frontend/data/readers/token_rows.h"
#include "frontend/data/source.h"

namespace partita {

inline constexpr int64_t kAnySize = -1;

/// The rows that a network reads, and how they are prepared for it.
struct RowFormat {
  std::string input = "image";      // the column that it reads in addition to "label"
  Shape input_shape{};              // images: declared [channels,height,width] or kAnySize; empty: any rows
  Type image{};                     // type of a generated image, u8[height,width,channels]; for images only
  TextFormat text{};                // text if its `tokens` are above 0
  RecordFormat records{};           // records if its `ids` are above 0
  int64_t classes = 10;             // number of generated labels
  int64_t resize = 0;               // side of the images after resizing; 0 = no resizing
  bool augment = false;             // random crops and flips of training images
  DType dtype = DType::f32;         // element type of inputs that are floats
  uint64_t seed = 1;                // seed of the order of training rows and their augmentation
  bool labels_are_classes = false;  // integer labels of NumPy files must be in [0, classes)
  std::optional<int64_t> ignored_label = std::nullopt;  // or equal to this one, the label of masked tokens, too

  bool is_text() const { return text.tokens > 0; }
  bool is_records() const { return records.ids > 0; }
  bool is_images() const { return !is_text() && !is_records(); }
};

inline constexpr int64_t kSyntheticTrainRows = 6000;
inline constexpr int64_t kSyntheticTestRows = 1000;

/// Returns the columns that `open_dataset` gives for training rows, but with images of all sources called `input`.
/// Opens files only for NumPy sources; for these throws as `open_dataset` does. For others throws InvalidArgument if
/// `format` is of images and the network does not read images of the source's shape, or generated images have other
/// dimensions than height, width and channels.
std::vector<Column> columns_of(const DataSource& source, const RowFormat& format);

/// Whether the source has rows of the split. mnist, cifar10: a file of them exists. npz, npy: rows are named; a single
/// .npz is opened to see if it has test rows. tokens: a file is named. text, synthetic: always true, without a look at
/// files. Throws MissingFile or InvalidFile if that .npz cannot be opened or is damaged.
bool has_rows(const DataSource& source, Split split);

/// Whether the source is token ids, and a mask of one of its files says that some are no targets.
bool has_masked_tokens(const DataSource& source);

/// Opens a dataset with the columns "image" and "label" of images, those of texts (`token_columns`) or of records
/// (`record_columns`); for NumPy files the first is `input`, and there may be more under their own names. Bytes of
/// images are resized if asked for and become (x / 255 - mean) / std in `dtype`, channels first, with mean and std of
/// mnist or cifar10, else 0.5 and 0.25; bytes of NumPy images count as channels first only where nothing else fits.
/// Other floats become `dtype`, other numbers of NumPy files i32. Training rows are shuffled in every epoch, and bytes
/// of images cropped and flipped if `augment`. Throws MissingFile if a file is missing, InvalidFile if one is damaged,
/// too short or has labels or integers out of range, RuntimeFailure(out_of_memory) if a NumPy file does not fit the
/// memory, and InvalidArgument if a NumPy source has no rows of the split, the network does not read rows of this kind
/// or shape, or rows of its format cannot be generated, resized or augmented.
DatasetPtr open_dataset(const DataSource& source, Split split, const RowFormat& format);

}  // namespace partita
