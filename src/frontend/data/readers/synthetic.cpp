#include "frontend/data/readers/synthetic.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "frontend/data/readers/image_rows.h"

namespace partita {
namespace {

constexpr int kGrey = 128;
constexpr int kContrast = 64;
constexpr int64_t kLargestPatch = 8;
constexpr int64_t kSmallestPatch = 4;
constexpr int64_t kLargestImageSide = 16384;
constexpr int64_t kMaxChannels = 16;
constexpr int kMaxImageClasses = 1000;

class Synthetic : public Dataset {
 public:
  Synthetic(Type image, int classes, int64_t rows, uint64_t seed, Split split)
      : columns_(image_columns(std::move(image))),
        classes_(classes),
        rows_(rows),
        key_(random_key(seed, split == Split::train ? "synthetic/train" : "synthetic/test")) {
    for (int k = 0; k < classes; ++k) add_patch(k, random_key(seed, "synthetic/patterns"));
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return rows_; }

 protected:
  void fill(int64_t, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    const int64_t pixels = columns_[0].type.elements();
    for (size_t i = 0; i < indices.size(); ++i) {
      const uint64_t row = static_cast<uint64_t>(indices[i]);
      uint8_t* image = out[0].as<uint8_t>() + static_cast<int64_t>(i) * pixels;
      const int label = static_cast<int>(random_below(key_, 0, row, static_cast<uint64_t>(classes_)));
      const int sign = random_word(key_, 2, row) & 1 ? 1 : -1;
      fill_noise(row, image, pixels);
      for (const Spot& spot : patches_[static_cast<size_t>(label)]) {
        image[spot.pixel] = static_cast<uint8_t>(image[spot.pixel] + sign * spot.change);
      }
      out[1].as<int32_t>()[i] = label;
    }
  }

 private:
  struct Spot {
    int64_t pixel;
    int change;
  };

  void add_patch(int label, uint64_t key) {
    const Shape& shape = columns_[0].type.shape;
    const int64_t places = (classes_ + 1) / 2;
    const int64_t grid = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(places))));
    const int64_t place = label / 2;
    const int64_t height = std::min(shape[0] / grid, kLargestPatch);
    const int64_t width = std::min(shape[1] / grid, kLargestPatch);
    if (std::min(height, width) < kSmallestPatch) {
      throw InvalidArgument("[synthetic] image too small for {} classes, got {}, expected sides of {} or more",
                            classes_, print(columns_[0].type), kSmallestPatch * grid);
    }
    const int64_t top = place / grid * (shape[0] / grid);
    const int64_t left = place % grid * (shape[1] / grid);
    std::vector<Spot> spots;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        // Blocks of 2 x 2 pixels, which survive pooling.
        const int64_t block = (place * kLargestPatch + y / 2) * kLargestPatch + x / 2;
        const bool bright = random_word(key, static_cast<uint64_t>(block), 0) & 1;
        const bool negated = label % 2 == 1 && x >= width / 2;
        const int64_t pixel = ((top + y) * shape[1] + left + x) * shape[2];
        for (int64_t c = 0; c < shape[2]; ++c) {
          spots.push_back({pixel + c, bright != negated ? kContrast : -kContrast});
        }
      }
    }
    patches_.push_back(std::move(spots));
  }

  /// Fills the `pixels` bytes of the image of row `row` with grey, 128, and noise of -32 to 31, four bytes per random
  /// word.
  void fill_noise(uint64_t row, uint8_t* image, int64_t pixels) const {
    for (int64_t first = 0; first < pixels; first += 16) {
      const PhiloxBlock block = random_block(key_, static_cast<uint64_t>(1 + first / 16), row);
      const int64_t count = std::min<int64_t>(16, pixels - first);
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t byte = block[static_cast<size_t>(i / 4)] >> (i % 4 * 8) & 0xff;
        image[first + i] = static_cast<uint8_t>(kGrey - 32 + static_cast<int>(byte / 4));
      }
    }
  }

  std::vector<Column> columns_;
  int classes_;
  int64_t rows_;
  uint64_t key_;
  std::vector<std::vector<Spot>> patches_;  // per class
};

}  // namespace

DatasetPtr make_synthetic(Type image, int classes, int64_t rows, uint64_t seed, Split split) {
  const auto within = [](int64_t size, int64_t most) { return size > 0 && size <= most; };
  const bool sized = image.rank() == 3 && within(image.shape[0], kLargestImageSide) &&
                     within(image.shape[1], kLargestImageSide) && within(image.shape[2], kMaxChannels);
  if (image.dtype != DType::u8 || !sized) {
    throw InvalidArgument(
        "[synthetic] bad image type, got {}, expected u8[height,width,channels] with sides of 1 to {} and 1 to {} "
        "channels",
        print(image), kLargestImageSide, kMaxChannels);
  }
  if (classes < 2 || classes > kMaxImageClasses) {
    throw InvalidArgument("[synthetic] bad number of classes, got {}, expected 2 to {}", classes, kMaxImageClasses);
  }
  if (rows < 0) {
    throw InvalidArgument("[synthetic] bad number of rows, got {}, expected 0 or more", rows);
  }
  return std::make_shared<Synthetic>(std::move(image), classes, rows, seed, split);
}

}  // namespace partita
