#pragma once
// Maps on images in height, width, channel order (HWC). Lists of them go through `chain`, which
// joins rescale, normalize and hwc_to_chw into one pass.

#include <cstdint>

#include "data/maps/value_map.h"

namespace partita {

/// value * scale + shift, as f32; any shape.
ValueMapPtr rescale(double scale, double shift);

/// (value - mean[c]) / std[c] of an HWC image, as f32; one mean and std for each channel.
ValueMapPtr normalize(const std::vector<double>& mean, const std::vector<double>& std);

/// [H,W,C] to [C,H,W] in the same element type.
ValueMapPtr hwc_to_chw();

/// The same values in another element type; any shape. Fractions are cut off, and what an integer
/// type cannot hold becomes its nearest value, NaN 0.
ValueMapPtr cast(DType dtype);

/// Bilinear, with half-pixel centres and without smoothing; u8 (rounded to nearest) and f32 images.
ValueMapPtr resize(int64_t height, int64_t width);

/// A window of height x width of the image with `padding` zero pixels on every side, at a place drawn
/// for each (seed, epoch, sample).
ValueMapPtr random_crop(int64_t height, int64_t width, int64_t padding, uint64_t seed);

/// Left and right exchanged with probability one half, drawn for each (seed, epoch, sample).
ValueMapPtr random_horizontal_flip(uint64_t seed);

}  // namespace partita
