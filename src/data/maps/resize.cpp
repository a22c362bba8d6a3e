#include <algorithm>
#include <cmath>

#include "data/maps/image_maps.h"

namespace partita {
namespace {

constexpr int64_t kLargestSide = 16384;

/// Where one output coordinate falls between two input ones.
struct Tap {
  int64_t low;
  int64_t high;
  float weight;  // of high
};

std::vector<Tap> taps(int64_t from, int64_t to) {
  std::vector<Tap> result;
  result.reserve(static_cast<size_t>(to));
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * ratio - 0.5;
    const double inside = std::clamp(centre, 0.0, static_cast<double>(from - 1));
    const int64_t low = static_cast<int64_t>(inside);
    result.push_back({low, std::min(low + 1, from - 1), static_cast<float>(inside - static_cast<double>(low))});
  }
  return result;
}

template <class T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, uint8_t>)
    return static_cast<uint8_t>(value + 0.5f);
  else
    return value;
}

template <class T>
void resize_image(const ConstTensor& in, const Tensor& out) {
  const int64_t channels = in.type.shape[2];
  const int64_t row = in.type.shape[1] * channels;
  const std::vector<Tap> columns = taps(in.type.shape[1], out.type.shape[1]);
  T* target = out.as<T>();
  for (const Tap& y : taps(in.type.shape[0], out.type.shape[0])) {
    const T* upper = in.as<T>() + y.low * row;
    const T* lower = in.as<T>() + y.high * row;
    for (const Tap& x : columns) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto across = [&](const T* line) {
          const float left = line[x.low * channels + c];
          return left + (line[x.high * channels + c] - left) * x.weight;
        };
        const float top = across(upper);
        *target++ = rounded<T>(top + (across(lower) - top) * y.weight);
      }
    }
  }
}

class Resize : public ValueMap {
 public:
  Resize(int64_t height, int64_t width) : height_(height), width_(width) {}

  Type type(const Type& in) const override {
    const bool fits = in.rank() == 3 && in.shape[0] > 0 && in.shape[1] > 0;
    if (!fits || (in.dtype != DType::u8 && in.dtype != DType::f32)) {
      throw InvalidArgument(
          fmt::format("[resize] not an image, got {}, expected u8 or f32 [height,"
                      "width,channels] with pixels",
                      print(in)));
    }
    return {in.dtype, {height_, width_, in.shape[2]}};
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey&) const override {
    if (in.type.dtype == DType::u8) return resize_image<uint8_t>(in, out);
    resize_image<float>(in, out);
  }

 private:
  int64_t height_;
  int64_t width_;
};

}  // namespace

ValueMapPtr resize(int64_t height, int64_t width) {
  const auto [low, high] = std::minmax(height, width);
  if (low < 1 || high > kLargestSide) {
    throw InvalidArgument(
        fmt::format("[resize] bad size, got {} x {}, expected sides of 1 to {}", height, width, kLargestSide));
  }
  return std::make_shared<Resize>(height, width);
}

}  // namespace partita
