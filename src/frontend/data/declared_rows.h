#pragma once
// Rows compared with what a network declares that it reads.

#include "frontend/data/open_dataset.h"

namespace partita {

/// Whether the channels of an image of bytes stand first, by the shape that the network declares; without one by which
/// of the two sizes can be channels: 1, 3 or 4. What can be both has its channels last.
bool has_channels_first(const Shape& image, const Shape& declared);

/// Throws InvalidArgument, with both shapes, unless the columns that `format` declares have these shapes: the input of
/// images, all of texts and records. Columns that are missing or that nothing is declared of are not looked at.
void require_declared(const std::vector<Column>& columns, const RowFormat& format, const DataSource& source);

}  // namespace partita
