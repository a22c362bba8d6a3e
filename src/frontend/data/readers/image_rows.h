#pragma once
// Labelled images held in memory as bytes: what the image readers make.

#include "frontend/data/dataset.h"

namespace partita {

/// Columns "image" (u8, the type given) and "label" (i32[]). `pixels` holds the images one after
/// another, `labels` one byte for each.
DatasetPtr image_rows(const Type& image, const std::vector<uint8_t>& pixels, const std::vector<uint8_t>& labels);

/// The mean and the standard deviation of each channel of a data set's pixels, as shares of 255.
struct ChannelScaling {
  std::vector<double> mean, std;
};

/// The two columns of labelled images.
std::vector<Column> image_columns(Type image);

}  // namespace partita
