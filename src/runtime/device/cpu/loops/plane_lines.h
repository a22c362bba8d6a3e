#pragma once
// One plane of an image, copied so that what lies under a tap, along a row of places, is a line of vectors: zeros
// around it, columns of one rest by the step side by side. For convolutions with few filters in a group, where packing
// patches for a product costs more than the product.

#include <cstddef>

#include "runtime/device/cpu/loops/patches.h"

namespace partita {

class PlaneLines {
 public:
  explicit PlaneLines(Patches patches);

  /// Numbers of a copied plane, and of a plane of places, whose rows are padded to whole vectors.
  int64_t lines_size() const { return patches_.column_step * patches_.height * line_size_; }
  int64_t places_size() const { return patches_.rows * row_size_; }
  int64_t row_size() const { return row_size_; }
  /// Of the sums for each tap.
  int64_t tap_sums_size() const { return static_cast<int64_t>(patches_.taps.size()) * kBlock; }

  /// Copies a plane.
  void load(const double* plane, double* lines) const;
  /// sums[place] += the sum over taps of weights[tap] times what lies under it there.
  void add_correlation(const double* lines, const double* weights, double* sums) const;
  /// tap_sums[tap] += the sums over places of places[place] times what lies under the tap there, as parts to be added.
  void add_products(const double* lines, const double* places, double* tap_sums) const;
  static double total(const double* tap_sums, int64_t tap);

 private:
  static constexpr int64_t kBlock = 16;  // places that are summed together

  /// The line under a tap along a row of places; nullptr outside the image.
  const double* line(const double* lines, size_t tap, int64_t row) const {
    const int64_t y = row * patches_.row_step + patches_.taps[tap].row;
    return y < 0 || y >= patches_.height ? nullptr : lines + begins_[tap] + y * line_size_;
  }

  Patches patches_;
  int64_t before_ = 0;  // zeros, or elements, that a line has before that of place 0
  int64_t line_size_ = 0, row_size_ = 0;
  std::vector<int64_t> begins_;  // per tap: where its line of row 0 begins
};

}  // namespace partita
