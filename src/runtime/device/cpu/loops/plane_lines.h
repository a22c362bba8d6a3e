#pragma once
// One plane of an image, copied so that the elements under a tap along a row of positions form a line of vectors. Lines
// are surrounded by zeros, and columns with the same remainder by the step are adjacent. For convolutions with few
// filters per group, for which packing patches costs more than the product.

#include <cstddef>

#include "runtime/device/cpu/loops/patches.h"

namespace partita {

class PlaneLines {
 public:
  explicit PlaneLines(Patches patches);

  /// Number of elements of a copied plane, and of a plane of positions, whose rows are padded to whole vectors.
  int64_t lines_size() const { return patches_.column_step * patches_.height * line_size_; }
  int64_t places_size() const { return patches_.rows * row_size_; }
  int64_t row_size() const { return row_size_; }
  /// Number of elements of the partial sums of all taps.
  int64_t tap_sums_size() const { return static_cast<int64_t>(patches_.taps.size()) * kBlock; }

  /// Copies the plane of an image to `lines`, which has lines_size() elements, and surrounds each line with zeros.
  void load(const double* plane, double* lines) const;
  /// sums[place] += sum over taps of weights[tap] times the element under the tap at that position. `lines` comes from
  /// `load`. `sums` has places_size() elements; those in the padding of its rows become arbitrary.
  void add_correlation(const double* lines, const double* weights, double* sums) const;
  /// Adds to the sum of each tap, over all positions, the value of the position times the element under the tap there.
  /// `lines` comes from `load`. `places` has places_size() values, zeros in the padding of its rows. `tap_sums` has
  /// tap_sums_size() elements: several partial sums per tap, which `total` adds up.
  void add_products(const double* lines, const double* places, double* tap_sums) const;
  static double total(const double* tap_sums, int64_t tap);

 private:
  static constexpr int64_t kBlock = 16;  // positions that are summed together

  /// The line under a tap along a row of positions; nullptr outside the image.
  const double* line(const double* lines, size_t tap, int64_t row) const {
    const int64_t y = row * patches_.row_step + patches_.taps[tap].row;
    return y < 0 || y >= patches_.height ? nullptr : lines + begins_[tap] + y * line_size_;
  }

  Patches patches_;
  int64_t before_ = 0;  // zeros or elements of a line before that of position 0
  int64_t line_size_ = 0, row_size_ = 0;
  std::vector<int64_t> begins_;  // per tap: begin of its line of row 0
};

}  // namespace partita
