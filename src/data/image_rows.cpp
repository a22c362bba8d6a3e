#include "data/image_rows.h"

#include <cstring>

namespace partita {
namespace {

class ImageRows : public Dataset {
 public:
  ImageRows(Type image, std::vector<uint8_t> pixels, std::vector<uint8_t> labels)
      : row_bytes_(image.bytes()),
        columns_(image_columns(std::move(image))),
        pixels_(std::move(pixels)),
        labels_(std::move(labels)) {
    PARTITA_CHECK(pixels_.size() == labels_.size() * static_cast<size_t>(row_bytes_),
                  "{} bytes of pixels for {} labels", pixels_.size(), labels_.size());
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }

 protected:
  void fill(int64_t, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    uint8_t* pixels = out[0].as<uint8_t>();
    int32_t* labels = out[1].as<int32_t>();
    for (int64_t index : indices) {
      std::memcpy(pixels, pixels_.data() + index * row_bytes_, static_cast<size_t>(row_bytes_));
      pixels += row_bytes_;
      *labels++ = labels_[static_cast<size_t>(index)];
    }
  }

 private:
  int64_t row_bytes_;
  std::vector<Column> columns_;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> labels_;
};

}  // namespace

DatasetPtr image_rows(Type image, std::vector<uint8_t> pixels, std::vector<uint8_t> labels) {
  return std::make_shared<ImageRows>(std::move(image), std::move(pixels), std::move(labels));
}

std::vector<Column> image_columns(Type image) {
  PARTITA_CHECK(image.dtype == DType::u8, "images of {}", print(image));
  return {{"image", std::move(image)}, {"label", {DType::i32, {}}}};
}

}  // namespace partita
