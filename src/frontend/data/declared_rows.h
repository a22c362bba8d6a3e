#pragma once
// Compares rows with what a network declares to read.

#include "frontend/data/open_dataset.h"

namespace partita {

/// Whether the first dimension of an image of bytes can be its channels and the last cannot. `declared` is the shape
/// [channels,height,width] that the network declares: channels are of that number or, if it is kAnySize or `declared`
/// is empty, 1, 3 or 4. Returns false for a shape without three dimensions.
bool has_channels_first(const Shape& image, const Shape& declared);

/// Checks that `columns` are as `format` declares. For images, the column `format.input` must have the shape
/// `input_shape`, where kAnySize stands for any size but not for channels last, and `resize` above 0 replaces height
/// and width; if `input_shape` is empty, nothing is checked. For texts and records, each declared column must have its
/// shape and be floats or not as declared, "label" only with `labels_are_classes`. Ignores columns that are missing or
/// not declared. Throws InvalidArgument, with the type, what is declared and `source`, otherwise.
void require_declared(const std::vector<Column>& columns, const RowFormat& format, const DataSource& source);

}  // namespace partita
