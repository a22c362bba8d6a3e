#pragma once
// Compares rows with what a network declares to read.

#include "frontend/data/open_dataset.h"

namespace partita {

/// Whether the first dimension of an image of bytes can be its channels and the last cannot. `declared` is the shape
/// [channels,height,width] that the network declares: channels are of that number or, if it is kAnySize or `declared`
/// is empty, 1, 3 or 4. False for a shape without three dimensions.
bool has_channels_first(const Shape& image, const Shape& declared);

/// Checks that the columns that `format` declares have the declared shapes. These are the input for images; for texts
/// and records they are all columns, which must also be floats or integers as declared, but labels only with
/// `labels_are_classes`. Ignores columns that are missing or not declared. Throws InvalidArgument, with both shapes and
/// `source`, otherwise.
void require_declared(const std::vector<Column>& columns, const RowFormat& format, const DataSource& source);

}  // namespace partita
