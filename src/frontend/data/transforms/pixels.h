#pragma once
// rescale, normalize and hwc_to_chw as one pass: a sequence of them that keeps channels last until its end is an affine
// function per channel, followed by a change of order.

#include "frontend/data/transforms/value_map.h"

namespace partita {

/// value * scale + shift, with one coefficient per channel or one for all. Empty = unchanged.
struct Affine {
  std::vector<double> scale, shift;

  bool identity() const { return scale.empty(); }
  float scale_of(int64_t channel) const { return static_cast<float>(at(scale, channel)); }
  float shift_of(int64_t channel) const { return static_cast<float>(at(shift, channel)); }

 private:
  static double at(const std::vector<double>& values, int64_t channel) {
    return values[values.size() > 1 ? static_cast<size_t>(channel) : 0];
  }
};

/// An affine function per channel of an HWC image, then optionally the order CHW.
class Pixels : public ValueMap {
 public:
  /// Makes the map that applies `affine` per channel and then, if `channels_first`, changes HWC to CHW. `channels`:
  /// number that the image must have; 0 = any.
  Pixels(Affine affine, int64_t channels, bool channels_first)
      : affine_(std::move(affine)), channels_(channels), channels_first_(channels_first) {}

  Type type(const Type& in) const override;
  void apply(const ConstTensor& in, const Tensor& out, const RowKey& key) const override;
  ValueMapPtr fuse(const ValueMap& next) const override;

  const Affine& affine() const { return affine_; }
  bool channels_first() const { return channels_first_; }

 private:
  template <class T>
  void scale(const T* in, const Type& type, float* out) const;

  Affine affine_;
  int64_t channels_;
  bool channels_first_;
};

}  // namespace partita
