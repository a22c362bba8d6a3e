// Bilinear resizing, alone or in one pass with what follows it. Source rows are widened once each, channel by channel,
// and blended in pairs.

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/transforms/pixels.h"

namespace partita {
namespace {

constexpr int64_t kLargestSide = 16384;
constexpr int kWeightBits = 11;
constexpr int kShortened = 4;  // low bits dropped from a widened row so that it fits 16 bits

/// Position of an output coordinate between two input ones, with the weights of both.
template <class Weight>
struct Tap {
  int64_t low, high;
  Weight low_weight, high_weight;
};

template <class T>
struct Rules;  // arithmetic for values of type T: type of weights and of widened rows, and the sums

template <>
struct Rules<float> {
  using Weight = float;
  using Wide = float;
  static Weight weight(float fraction) { return fraction; }
  static Wide across(float a, float b, float wa, float wb) { return a * wa + b * wb; }
  static float down(float a, float b, float wa, float wb) { return a * wa + b * wb; }
};

template <>
struct Rules<uint8_t> {
  using Weight = int16_t;
  using Wide = int16_t;
  static Weight weight(float fraction) {
    return static_cast<int16_t>(std::nearbyint(fraction * static_cast<float>(1 << kWeightBits)));
  }
  static Wide across(int a, int b, int wa, int wb) { return static_cast<int16_t>((a * wa + b * wb) >> kShortened); }
  static uint8_t down(int16_t a, int16_t b, int16_t wa, int16_t wb) {
    const auto high_half = [](int16_t x, int16_t y) {
      return static_cast<int16_t>((static_cast<int32_t>(x) * static_cast<int32_t>(y)) >> 16);
    };
    constexpr int kLeft = 2 * kWeightBits - kShortened - 16;
    return static_cast<uint8_t>((high_half(a, wa) + high_half(b, wb) + (1 << (kLeft - 1))) >> kLeft);
  }
};

enum class Side { across, down };

/// Returns, for each of `to` output coordinates, the two neighbouring coordinates of `from` input ones, limited to
/// these, and their weights. Beyond the outermost input centres, the weights of columns (across) are 1 for the low one
/// and 0 for the high one, as in OpenCV; rows (down) take the same row twice, which differs in the dropped bits.
template <class T>
std::vector<Tap<typename Rules<T>::Weight>> taps(Side side, int64_t from, int64_t to) {
  std::vector<Tap<typename Rules<T>::Weight>> result;
  result.reserve(static_cast<size_t>(to));
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const auto centre = static_cast<float>((static_cast<double>(i) + 0.5) * ratio - 0.5);
    const auto low = static_cast<int64_t>(std::floor(centre));
    float fraction = centre - static_cast<float>(low);
    if (side == Side::across && (low < 0 || low >= from - 1)) fraction = 0;
    result.push_back({std::clamp<int64_t>(low, 0, from - 1), std::clamp<int64_t>(low + 1, 0, from - 1),
                      Rules<T>::weight(1 - fraction), Rules<T>::weight(fraction)});
  }
  return result;
}

/// The two widened source rows that an output row lies between. Rows come in ascending order, so each is widened once.
template <class T>
class WideRows {
 public:
  using Wide = typename Rules<T>::Wide;
  using Taps = std::vector<Tap<typename Rules<T>::Weight>>;

  WideRows(const ConstTensor& in, const Taps& columns) : in_(in), columns_(columns), channels_(in.type.shape[2]) {
    for (Kept& kept : kept_) kept.values.resize(columns.size() * static_cast<size_t>(channels_));
  }

  /// Returns row y of the input, widened: channel after channel, one value per output column. It is valid until another
  /// row of the same parity is asked for.
  const Wide* row(int64_t y) {
    Kept& kept = kept_[static_cast<size_t>(y % 2)];
    if (kept.y != y) widen(y, kept);
    return kept.values.data();
  }

 private:
  struct Kept {
    int64_t y = -1;
    std::vector<Wide> values;
  };

  void widen(int64_t y, Kept& kept) {
    kept.y = y;
    const T* line = in_.as<T>() + y * in_.type.shape[1] * channels_;
    Wide* value = kept.values.data();
    for (int64_t c = 0; c < channels_; ++c, ++line) {
      for (const auto& x : columns_) {
        *value++ = Rules<T>::across(line[x.low * channels_], line[x.high * channels_], x.low_weight, x.high_weight);
      }
    }
  }

  const ConstTensor& in_;
  const Taps& columns_;
  int64_t channels_;
  std::array<Kept, 2> kept_;
};

/// Calls `blend(channel, y, upper, lower, weights)` for each channel of each output row y, row by row. `upper` and
/// `lower` are the widened source rows of the channel, and `weights` is their tap.
template <class T, class Blend>
void resize_rows(const ConstTensor& in, int64_t height, int64_t width, Blend&& blend) {
  const auto columns = taps<T>(Side::across, in.type.shape[1], width);
  WideRows<T> rows(in, columns);
  int64_t y = 0;
  for (const auto& tap : taps<T>(Side::down, in.type.shape[0], height)) {
    const auto *upper = rows.row(tap.low), *lower = rows.row(tap.high);
    for (int64_t c = 0; c < in.type.shape[2]; ++c) blend(c, y, upper + c * width, lower + c * width, tap);
    ++y;
  }
}

struct Sides {
  int64_t height = 0, width = 0;
};

/// Returns the size of the result: `given`, or, if its width is 0, a shorter side of the given height and the other
/// side in proportion, rounded down. Throws InvalidArgument if that is outside 1 to kLargestSide.
Sides sides_of(const Sides& given, const Shape& image) {
  if (given.width > 0) return given;
  const int64_t shorter = std::min(image[0], image[1]), longer = std::max(image[0], image[1]);
  const int64_t side = given.height, other = longer > kLargestSide * shorter ? 0 : longer * side / shorter;
  if (other < 1 || other > kLargestSide) {
    throw InvalidArgument(
        "[resize] an image too long for its shorter side, got {} x {} to {}, expected a longer side of at most {} "
        "afterwards",
        image[0], image[1], side, kLargestSide);
  }
  return image[0] <= image[1] ? Sides{side, other} : Sides{other, side};
}

/// Resizes an image. `then` follows in the same pass; null = nothing.
class Resize : public ValueMap {
 public:
  Resize(const Sides& size, std::shared_ptr<const Pixels> then) : size_(size), then_(std::move(then)) {}

  Type type(const Type& in) const override {
    const bool fits = in.rank() == 3 && in.shape[0] > 0 && in.shape[1] > 0;
    if (!fits || (in.dtype != DType::u8 && in.dtype != DType::f32)) {
      throw InvalidArgument("[resize] not an image, got {}, expected u8 or f32 [height,width,channels] with pixels",
                            print(in));
    }
    const Sides size = sides_of(size_, in.shape);
    const Type resized{in.dtype, {size.height, size.width, in.shape[2]}};
    return then_ ? then_->type(resized) : resized;
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey&) const override {
    if (in.type.dtype == DType::u8)
      run<uint8_t>(in, out);
    else
      run<float>(in, out);
  }

  ValueMapPtr fuse(const ValueMap& next) const override {
    const auto* pixels = dynamic_cast<const Pixels*>(&next);
    if (!pixels) return {};
    if (!then_) return std::make_shared<Resize>(size_, std::make_shared<Pixels>(*pixels));
    const auto both = std::dynamic_pointer_cast<const Pixels>(then_->fuse(next));
    return both ? std::make_shared<Resize>(size_, both) : nullptr;
  }

 private:
  template <class T>
  void run(const ConstTensor& in, const Tensor& out) const {
    if (then_ && !then_->affine().identity()) return scaled<T>(in, out);
    const int64_t channels = in.type.shape[2];
    const bool planar = then_ && then_->channels_first();
    const Sides sides = sides_of(size_, in.type.shape);
    const int64_t height = sides.height, width = sides.width;
    resize_rows<T>(in, height, width, [&](int64_t c, int64_t y, auto* upper, auto* lower, const auto& tap) {
      T* target = out.as<T>() + (planar ? (c * height + y) * width : y * width * channels + c);
      const int64_t step = planar ? 1 : channels;
      for (int64_t x = 0; x < width; ++x) {
        target[x * step] = Rules<T>::down(upper[x], lower[x], tap.low_weight, tap.high_weight);
      }
    });
  }

  template <class T>
  void scaled(const ConstTensor& in, const Tensor& out) const {
    const int64_t channels = in.type.shape[2];
    const Affine& affine = then_->affine();
    const Sides sides = sides_of(size_, in.type.shape);
    const int64_t height = sides.height, width = sides.width;
    std::vector<T> line(static_cast<size_t>(width));
    resize_rows<T>(in, height, width, [&](int64_t c, int64_t y, auto* upper, auto* lower, const auto& tap) {
      T* values = line.data();
      for (int64_t x = 0; x < width; ++x) {
        values[x] = Rules<T>::down(upper[x], lower[x], tap.low_weight, tap.high_weight);
      }
      const float scale = affine.scale_of(c), shift = affine.shift_of(c);
      float* target = out.as<float>() + (then_->channels_first() ? (c * height + y) * width : y * width * channels);
      if (then_->channels_first()) {
        for (int64_t x = 0; x < width; ++x) target[x] = static_cast<float>(values[x]) * scale + shift;
        return;
      }
      for (int64_t x = 0; x < width; ++x) target[x * channels + c] = static_cast<float>(values[x]) * scale + shift;
    });
  }

  Sides size_;  // requested size, from which `sides_of` computes that of an image
  std::shared_ptr<const Pixels> then_;
};

}  // namespace

ValueMapPtr resize(int64_t height, int64_t width) {
  const auto [low, high] = std::minmax(height, width);
  if (low < 1 || high > kLargestSide) {
    throw InvalidArgument("[resize] bad size, got {} x {}, expected sides of 1 to {}", height, width, kLargestSide);
  }
  return std::make_shared<Resize>(Sides{height, width}, nullptr);
}

ValueMapPtr resize_shorter(int64_t side) {
  if (side < 1 || side > kLargestSide) {
    throw InvalidArgument("[resize] bad size, got {}, expected a side of 1 to {}", side, kLargestSide);
  }
  return std::make_shared<Resize>(Sides{side, 0}, nullptr);
}

}  // namespace partita
