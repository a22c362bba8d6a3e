#pragma once
// Maps on images in height, width, channel order (HWC), and on labels. Lists of them go through `chain`, which
// joins resize, rescale, normalize and hwc_to_chw into one pass.

#include <cstdint>

#include "frontend/data/transforms/value_map.h"

namespace partita {

/// value * scale + shift, as f32; any shape.
ValueMapPtr rescale(double scale, double shift);

/// (value - mean[c]) / std[c] of an HWC image, as f32; one mean and std for each channel.
ValueMapPtr normalize(const std::vector<double>& mean, const std::vector<double>& std);

/// [H,W,C] to [C,H,W] in the same element type.
ValueMapPtr hwc_to_chw();

/// [C,H,W] to [H,W,C] in the same element type.
ValueMapPtr chw_to_hwc();

/// The same values in another element type; any shape. Fractions are cut off, and what an integer
/// type cannot hold becomes its nearest value, NaN 0.
ValueMapPtr cast(DType dtype);

/// Bilinear, with half-pixel centres and without smoothing; u8 and f32 images. For u8 the weights are rounded
/// to 11 bits and sums shortened as OpenCV does, so that pixels are the same as its.
ValueMapPtr resize(int64_t height, int64_t width);

/// As `resize`, to `side` pixels along the shorter side of the image; the other side in proportion, rounded down.
ValueMapPtr resize_shorter(int64_t side);

/// Pixels around an image, in the order of the documented system's random crop.
struct CropPadding {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};

/// A window of height x width of the image with zero pixels around it, at a place drawn for each (seed, epoch,
/// sample).
ValueMapPtr random_crop(int64_t height, int64_t width, const CropPadding& padding, uint64_t seed);

/// Left and right exchanged with probability one half, drawn for each (seed, epoch, sample).
ValueMapPtr random_horizontal_flip(uint64_t seed);

/// An integer k as f32[classes] that is `on` at k and `off` elsewhere, for each element of any shape. A label
/// outside [0, classes) throws InvalidArgument when it is met.
ValueMapPtr one_hot(int64_t classes, double on = 1, double off = 0);

}  // namespace partita
