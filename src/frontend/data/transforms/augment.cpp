// Random crops and flips. The draws of a row are elements 0 and 1 of the counter (sample, epoch), so they are the same
// on any rank and worker.

#include <algorithm>
#include <cstring>

#include "base/philox.h"
#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

constexpr int64_t kLargestCanvasSide = 16384;

uint64_t draw(uint64_t key, const RowKey& row, uint64_t number, uint64_t bound) {
  return random_below(key, 2 * static_cast<uint64_t>(row.sample) + number, static_cast<uint64_t>(row.epoch), bound);
}

void check_image(std::string_view where, const Type& type) {
  if (type.rank() == 3) return;
  throw InvalidArgument("[{}] not an image, got {}, expected [height,width,channels]", where, print(type));
}

std::string print(const CropPadding& padding) {
  return fmt::format("({}, {}, {}, {})", padding.left, padding.top, padding.right, padding.bottom);
}

class RandomCrop : public ValueMap {
 public:
  RandomCrop(int64_t height, int64_t width, const CropPadding& padding, uint64_t seed)
      : height_(height), width_(width), padding_(padding), key_(random_key(seed, "random_crop")) {}

  Type type(const Type& in) const override {
    check_image("random_crop", in);
    if (height_ > in.shape[0] + padding_.top + padding_.bottom ||
        width_ > in.shape[1] + padding_.left + padding_.right) {
      throw InvalidArgument(
          "[random_crop] window larger than the image, got {} x {} of {} with padding {}, expected a window inside it",
          height_, width_, print(in), print(padding_));
    }
    return {in.dtype, {height_, width_, in.shape[2]}};
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey& row) const override {
    const int64_t height = in.type.shape[0];
    const int64_t width = in.type.shape[1];
    const auto place = [&](int64_t padded, int64_t window, uint64_t number) {
      return static_cast<int64_t>(draw(key_, row, number, static_cast<uint64_t>(padded - window + 1)));
    };
    const int64_t top = place(padding_.top + height + padding_.bottom, height_, 0) - padding_.top;
    const int64_t left = place(padding_.left + width + padding_.right, width_, 1) - padding_.left;
    const int64_t pixel = in.type.shape[2] * static_cast<int64_t>(size_of(in.type.dtype));
    const int64_t first = std::clamp<int64_t>(-left, 0, width_);  // columns of the window in the image
    const int64_t last = std::clamp<int64_t>(width - left, first, width_);
    const auto* source = static_cast<const std::byte*>(in.data);
    auto* target = static_cast<std::byte*>(out.data);
    std::memset(target, 0, static_cast<size_t>(height_ * width_ * pixel));
    for (int64_t y = 0; y < height_; ++y) {
      if (top + y < 0 || top + y >= height || first == last) continue;
      std::memcpy(target + (y * width_ + first) * pixel, source + ((top + y) * width + left + first) * pixel,
                  static_cast<size_t>((last - first) * pixel));
    }
  }

 private:
  int64_t height_;
  int64_t width_;
  CropPadding padding_;
  uint64_t key_;
};

class RandomHorizontalFlip : public ValueMap {
 public:
  explicit RandomHorizontalFlip(uint64_t seed) : key_(random_key(seed, "random_horizontal_flip")) {}

  Type type(const Type& in) const override {
    check_image("random_horizontal_flip", in);
    return in;
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey& row) const override {
    const int64_t bytes = in.type.bytes();
    if (bytes == 0) return;
    std::memcpy(out.data, in.data, static_cast<size_t>(bytes));
    if (draw(key_, row, 0, 2) == 0) return;
    const int64_t pixel = in.type.shape[2] * static_cast<int64_t>(size_of(in.type.dtype));
    const int64_t width = in.type.shape[1];
    auto* line = static_cast<std::byte*>(out.data);
    for (int64_t y = 0; y < in.type.shape[0]; ++y, line += width * pixel) {
      for (int64_t x = 0; x < width / 2; ++x) {
        std::byte* left = line + x * pixel;
        std::swap_ranges(left, left + pixel, line + (width - 1 - x) * pixel);
      }
    }
  }

 private:
  uint64_t key_;
};

}  // namespace

ValueMapPtr random_crop(int64_t height, int64_t width, const CropPadding& padding, uint64_t seed) {
  const auto [low, high] = std::minmax({height, width});
  const auto [least, most] = std::minmax({padding.left, padding.top, padding.right, padding.bottom});
  if (low < 1 || high > kLargestCanvasSide || least < 0 || most > kLargestCanvasSide) {
    throw InvalidArgument(
        "[random_crop] bad sizes, got {} x {} with padding {}, expected sides of 1 to {} and padding of 0 to {}",
        height, width, print(padding), kLargestCanvasSide, kLargestCanvasSide);
  }
  return std::make_shared<RandomCrop>(height, width, padding, seed);
}

ValueMapPtr random_horizontal_flip(uint64_t seed) { return std::make_shared<RandomHorizontalFlip>(seed); }

}  // namespace partita
