#pragma once
// Labelled images held in memory as bytes: the result of the image readers.

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset with the columns "image" (u8, of the given type) and "label" (i32[]). `pixels` holds the images
/// one after another, `labels` one byte per image. Throws InternalError if their numbers differ or `image` is not u8.
DatasetPtr image_rows(const Type& image, const std::vector<uint8_t>& pixels, const std::vector<uint8_t>& labels);

/// Mean and standard deviation per channel of a dataset's pixels, as fractions of 255.
struct ChannelScaling {
  std::vector<double> mean, std;
};

/// Returns the columns of labelled images: "image" of the given type and "label" (i32[]). Throws InternalError unless
/// `image` is u8.
std::vector<Column> image_columns(Type image);

}  // namespace partita
