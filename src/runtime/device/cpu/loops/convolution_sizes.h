#pragma once
// The sizes of an f64 convolution and of its gradients, and the image patches that each multiplies.

#include "ir/ops/window.h"
#include "runtime/device/cpu/loops/patches.h"
#include "runtime/device/kernel.h"

namespace partita {

/// Shapes of images x, filters and images y. An op has two of them as operands and computes the third.
struct ConvolutionSizes {
  Shape x, weight, y;
  int64_t groups = 1;
  Spans spans;

  int64_t images() const { return x[0]; }
  int64_t plane_x() const { return x[2] * x[3]; }
  int64_t plane_y() const { return y[2] * y[3]; }
  int64_t image_x() const { return x[1] * plane_x(); }
  int64_t image_y() const { return y[1] * plane_y(); }
  /// Numbers per group: input channels, filters, and taps of a filter.
  int64_t channels() const { return weight[1]; }
  int64_t filters() const { return weight[0] / groups; }
  int64_t taps() const { return weight[2] * weight[3]; }

  /// Returns the patches of x at the positions of y, yet without `data`.
  Patches patches() const;
};

/// The sizes of a query for conv2d or one of its gradients.
ConvolutionSizes convolution_sizes(const KernelQuery& query);

/// The elements of x whose row and column have the same remainders by the strides. They meet the same taps, each of
/// which moves over y one element at a time.
struct Residue {
  int64_t row = 0, column = 0;  // the first element
  Patches d_y;                  // patches of d_y at the positions of the elements
  std::vector<int64_t> taps;    // indices in a filter
};
/// The residues that together contain all elements of x.
std::vector<Residue> residues_of(const ConvolutionSizes& conv);

}  // namespace partita
