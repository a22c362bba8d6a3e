#pragma once
// Generated labelled images, for tests and first steps without a download.
//
// Class k has place k / 2 in a grid. Its patch has a left and a right half, each a fixed pattern with a sign. The
// product of the two signs gives k mod 2, and one of the two is drawn per row:
//
//   pixel = 128 + sign * contrast * (left, or (-1)^k * right) + noise
//
// An image and its negative are equally likely in every class. So a convex linear model has nothing to learn (its best
// weights are zero), while one hidden layer separates the classes.

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset with the columns "image" (of the given type, u8[height,width,channels]) and "label" (i32[]). A row
/// depends on (seed, split, index) only; the splits share their patterns. Throws InvalidArgument for other image types,
/// sides outside 1 to 16384, channels outside 1 to 16, classes outside 2 to 1000, rows below 0, and images too small
/// for the classes.
DatasetPtr make_synthetic(Type image, int classes, int64_t rows, uint64_t seed, Split split);

}  // namespace partita
