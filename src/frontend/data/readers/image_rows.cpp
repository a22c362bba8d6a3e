#include "frontend/data/readers/image_rows.h"

#include <algorithm>

#include "base/convert_elements.h"
#include "frontend/data/readers/memory_rows.h"

namespace partita {

DatasetPtr image_rows(const Type& image, const std::vector<uint8_t>& pixels, const std::vector<uint8_t>& labels) {
  const auto rows = static_cast<int64_t>(labels.size());
  PARTITA_CHECK(static_cast<int64_t>(pixels.size()) == rows * image.bytes(), "{} bytes of pixels for {} labels",
                pixels.size(), rows);
  const std::vector<Column> columns = image_columns(image);
  Array images(batch_type(columns[0].type, rows)), numbers(batch_type(columns[1].type, rows));
  std::ranges::copy(pixels, images.as<uint8_t>());
  convert_elements(labels.data(), numbers.as<int32_t>(), rows);
  std::vector<std::pair<std::string, Array>> arrays;  // an initializer list of both would copy
  arrays.emplace_back(columns[0].name, std::move(images));
  arrays.emplace_back(columns[1].name, std::move(numbers));
  return memory_rows(std::move(arrays));
}

std::vector<Column> image_columns(Type image) {
  PARTITA_CHECK(image.dtype == DType::u8, "images of {}", print(image));
  return {{"image", std::move(image)}, {"label", {DType::i32, {}}}};
}

}  // namespace partita
