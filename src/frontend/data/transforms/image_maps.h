#pragma once
// Maps on images in height, width, channel order (HWC), and on labels. `chain` combines lists of them; it joins resize,
// rescale, normalize and hwc_to_chw into one pass. All functions throw InvalidArgument for bad arguments, and the maps
// for values of other types.

#include <cstdint>

#include "frontend/data/transforms/value_map.h"

namespace partita {

/// Returns the map value * scale + shift, as f32, for any shape. Throws InvalidArgument for numbers that are not
/// finite.
ValueMapPtr rescale(double scale, double shift);

/// Returns the map (value - mean[c]) / std[c] of an HWC image, as f32, with one mean and std per channel c. Throws
/// InvalidArgument if there are none or different numbers of both, for means that are not finite and for stds that are
/// not finite and positive. The map throws InvalidArgument for other dimensions and numbers of channels.
ValueMapPtr normalize(const std::vector<double>& mean, const std::vector<double>& std);

/// Returns the map from [H,W,C] to [C,H,W] in the same element type. It throws InvalidArgument for other dimensions.
ValueMapPtr hwc_to_chw();

/// Returns the map from [C,H,W] to [H,W,C] in the same element type. It throws InvalidArgument for other dimensions.
ValueMapPtr chw_to_hwc();

/// Returns the map to another element type, for any shape. For an integer type fractions are dropped, values outside it
/// are clamped, and NaN becomes 0; a bool is whether the value differs from 0.
ValueMapPtr cast(DType dtype);

/// Returns the map to height x width by bilinear interpolation, with half-pixel centres and without smoothing, for u8
/// and f32 images. For u8 the weights are rounded to 11 bits and sums shortened as in OpenCV, so that pixels equal
/// OpenCV's. Throws InvalidArgument unless both sides are 1 to 16384. The map throws InvalidArgument for other types
/// and images without pixels.
ValueMapPtr resize(int64_t height, int64_t width);

/// Returns the map that resizes as `resize` does, to `side` pixels along the shorter side of the image. The other side
/// is in proportion, rounded down. Throws InvalidArgument unless `side` is 1 to 16384. The map throws InvalidArgument
/// as that of `resize` does, and if the other side would be longer than 16384 pixels.
ValueMapPtr resize_shorter(int64_t side);

/// Number of pixels added on each side of an image.
struct CropPadding {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};

/// Returns the map to a window of height x width of the image padded with zeros, at a position drawn per (seed, epoch,
/// sample). Throws InvalidArgument unless sides are 1 to 16384 and paddings 0 to 16384. The map throws InvalidArgument
/// if the window does not fit or the value is not [H,W,C].
ValueMapPtr random_crop(int64_t height, int64_t width, const CropPadding& padding, uint64_t seed);

/// Returns the map that swaps left and right of [H,W,C] with probability 1/2, drawn per (seed, epoch, sample). It
/// throws InvalidArgument for other dimensions.
ValueMapPtr random_horizontal_flip(uint64_t seed);

/// Returns the map from each integer k, in any shape, to f32[classes] with `on` at k and `off` elsewhere. Throws
/// InvalidArgument unless `classes` is 1 to 2^20 and the numbers are finite. The map throws InvalidArgument for other
/// types and for a label outside [0, classes).
ValueMapPtr one_hot(int64_t classes, double on = 1, double off = 0);

}  // namespace partita
