#pragma once
// The rows that a command trains or tests on, ready for a network.

#include "cli/options.h"
#include "data/dataset.h"

namespace partita {

struct DatasetOptions {
  Type image;          // what a generated image looks like: u8[height,width,channels]
  int64_t tokens = 0;  // of a row of text; 0: rows are images
  int64_t resize = 0;  // side of the images after resizing; 0: as they are
  DType dtype = DType::f32;
  uint64_t seed = 1;
  int classes = 10;
  bool augment = false;  // random crops and flips of training images
};

inline constexpr int64_t kSyntheticTrainRows = 6000;
inline constexpr int64_t kSyntheticTestRows = 1000;

/// False when no file of these rows is there; generated rows always are.
bool has_files(const DataSpec& spec, Split split);

/// Columns tokens and label of text; otherwise image [channels,height,width] and label. Images are scaled to (x / 255 -
/// mean) / std with the numbers of the data set; training rows are shuffled anew in every epoch.
DatasetPtr open_dataset(const DataSpec& spec, Split split, const DatasetOptions& options);

}  // namespace partita
