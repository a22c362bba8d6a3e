#include "frontend/data/transforms/pixels.h"

#include <algorithm>
#include <cmath>

#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

Affine compose(const Affine& first, const Affine& second) {
  const size_t channels = std::max(first.scale.size(), second.scale.size());
  Affine result;
  for (size_t c = 0; c < channels; ++c) {
    const size_t f = std::min(c, first.scale.size() - 1);
    const size_t s = std::min(c, second.scale.size() - 1);
    result.scale.push_back(first.scale[f] * second.scale[s]);
    result.shift.push_back(first.shift[f] * second.scale[s] + second.shift[s]);
  }
  return result;
}

/// Computes out[p * out_step] = in[p * in_step] * scale + shift for p in [0, count), in f32.
template <class T>
void affine_run(const T* in, int64_t in_step, float* out, int64_t out_step, int64_t count, float scale, float shift) {
  if (in_step == 1 && out_step == 1) {
    for (int64_t p = 0; p < count; ++p) out[p] = static_cast<float>(in[p]) * scale + shift;
    return;
  }
  for (int64_t p = 0; p < count; ++p) {
    out[p * out_step] = static_cast<float>(in[p * in_step]) * scale + shift;
  }
}

/// Copies an image from the order HWC to CHW, for any element type.
void channels_to_front(const ConstTensor& in, const Tensor& out) {
  for_dtype(in.type.dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = in.type.shape[2];
    const int64_t pixels = in.type.shape[0] * in.type.shape[1];
    T* target = out.as<T>();
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) *target++ = in.as<T>()[p * channels + c];
    }
  });
}

}  // namespace

Type Pixels::type(const Type& in) const {
  const bool image = in.rank() == 3;
  if (channels_first_ && !image) {
    throw InvalidArgument("[hwc_to_chw] not an image, got {}, expected [height,width,channels]", print(in));
  }
  if (channels_ > 0 && (!image || in.shape[2] != channels_)) {
    throw InvalidArgument("[normalize] wrong image, got {}, expected [height,width,{}] for {} means", print(in),
                          channels_, channels_);
  }
  Type result{affine_.identity() ? in.dtype : DType::f32, in.shape};
  if (channels_first_) result.shape = {in.shape[2], in.shape[0], in.shape[1]};
  return result;
}

void Pixels::apply(const ConstTensor& in, const Tensor& out, const RowKey&) const {
  if (affine_.identity()) return channels_to_front(in, out);
  for_dtype(in.type.dtype, [&](auto zero) { scale(in.as<decltype(zero)>(), in.type, out.as<float>()); });
}

ValueMapPtr Pixels::fuse(const ValueMap& next) const {
  const auto* second = dynamic_cast<const Pixels*>(&next);
  if (!second || (channels_first_ && (second->channels_first_ || second->channels_ > 0))) return {};
  if (channels_ > 0 && second->channels_ > 0 && channels_ != second->channels_) return {};
  const bool both = !affine_.identity() && !second->affine_.identity();
  Affine joined = both ? compose(affine_, second->affine_) : affine_.identity() ? second->affine_ : affine_;
  return std::make_shared<Pixels>(std::move(joined), std::max(channels_, second->channels_),
                                  channels_first_ || second->channels_first_);
}

template <class T>
void Pixels::scale(const T* in, const Type& type, float* out) const {
  const int64_t total = type.elements();
  const int64_t channels = type.rank() == 3 ? type.shape[2] : 1;
  if (channels == 1 || (affine_.scale.size() == 1 && !channels_first_)) {
    return affine_run(in, 1, out, 1, total, affine_.scale_of(0), affine_.shift_of(0));
  }
  const int64_t pixels = channels == 0 ? 0 : total / channels;
  for (int64_t c = 0; c < channels; ++c) {
    affine_run(in + c, channels, channels_first_ ? out + c * pixels : out + c, channels_first_ ? 1 : channels, pixels,
               affine_.scale_of(c), affine_.shift_of(c));
  }
}

ValueMapPtr rescale(double scale, double shift) {
  if (!std::isfinite(scale) || !std::isfinite(shift)) {
    throw InvalidArgument("[rescale] bad numbers, got {} and {}, expected finite ones", scale, shift);
  }
  return std::make_shared<Pixels>(Affine{{scale}, {shift}}, /*channels=*/0,
                                  /*channels_first=*/false);
}

ValueMapPtr normalize(const std::vector<double>& mean, const std::vector<double>& std) {
  if (mean.empty() || mean.size() != std.size()) {
    throw InvalidArgument("[normalize] lengths differ, got {} means and {} stds, expected one of each per channel",
                          mean.size(), std.size());
  }
  Affine affine;
  for (size_t c = 0; c < mean.size(); ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(std[c]) || std[c] <= 0) {
      throw InvalidArgument(
          "[normalize] bad channel {}, got mean {} and std {}, expected a finite mean and a positive std", c, mean[c],
          std[c]);
    }
    affine.scale.push_back(1 / std[c]);
    affine.shift.push_back(-mean[c] / std[c]);
  }
  return std::make_shared<Pixels>(std::move(affine), static_cast<int64_t>(mean.size()),
                                  /*channels_first=*/false);
}

ValueMapPtr hwc_to_chw() { return std::make_shared<Pixels>(Affine{}, /*channels=*/0, /*channels_first=*/true); }

}  // namespace partita
