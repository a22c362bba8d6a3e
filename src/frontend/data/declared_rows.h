#pragma once
// Compares rows with what a network declares to read.

#include "frontend/data/open_dataset.h"

namespace partita {

/// Whether the channels of an image of bytes come first. The shape that the network declares decides; without one, the
/// size that can be a number of channels (1, 3 or 4). If both can be, channels come last. False for a shape without
/// three dimensions.
bool has_channels_first(const Shape& image, const Shape& declared);

/// Checks that the columns that `format` declares have the declared shapes: the input for images, all columns for texts
/// and records. Ignores columns that are missing or not declared. Throws InvalidArgument, with both shapes, otherwise.
void require_declared(const std::vector<Column>& columns, const RowFormat& format, const DataSource& source);

}  // namespace partita
