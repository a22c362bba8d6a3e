// Images in files, and numbers in files of comma-separated values.

#include <png.h>
#include <turbojpeg.h>

#include <cmath>

#include "frontend/data/readers/csv_file.h"
#include "frontend/data/readers/csv_rows.h"
#include "frontend/data/readers/decode_image.h"
#include "fuzz/files.h"
#include "fuzz/target.h"

namespace partita {
namespace {

constexpr int kSide = 24;

std::vector<uint8_t> some_pixels(int channels) {
  std::vector<uint8_t> pixels(static_cast<size_t>(kSide * kSide * channels));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 7);
  return pixels;
}

std::string some_jpeg(int flags, TJSAMP sampling) {
  const std::vector<uint8_t> pixels = some_pixels(3);
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: the library's type
  tjCompress2(encoder, pixels.data(), kSide, 0, kSide, TJPF_RGB, &bytes, &size, sampling, 80, flags);
  std::string file(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return file;
}

std::string some_png(png_uint_32 format, int channels) {
  const std::vector<uint8_t> pixels = some_pixels(channels);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = kSide;
  image.format = format;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr);
  file.resize(size);
  return file;
}

void read_image(const std::string& input) {
  const Array image = decode_image(input_folder().write("input.jpg", input));
  const Shape& shape = image.shape();
  require(shape.size() == 3 && shape[0] > 0 && shape[1] > 0 && shape[2] == 3, "no image");
  image.at(image.type().elements() - 1);
}

void read_csv_file(const std::string& input) {
  const std::string path = input_folder().write("input.csv", input).string();
  const CsvNumbers numbers = read_csv(path);
  require(numbers.names.size() == numbers.are_whole.size(), "columns without a kind");
  require(numbers.values.size() == numbers.names.size() * static_cast<size_t>(numbers.rows()), "a row that is cut");
  require(2 * numbers.values.size() <= input.size() + 1, "more numbers than the file has");
  for (const double value : numbers.values) require(std::isfinite(value), "no finite number");
  for (const Shape& image : {Shape{}, Shape{1, -1, -1}, Shape{2, 1, 1}}) {
    for (const auto& [name, array] : read_csv_rows(path, "image", {.image = image, .has_float_input = image.empty()})) {
      require(!name.empty() && array.shape().at(0) == numbers.rows(), "an array of other rows");
    }
  }
}

}  // namespace

std::vector<FuzzTarget> images_targets() {
  return {{.name = "image",
           .seeds =
               [] {
                 return std::vector{some_jpeg(0, TJSAMP_420),     some_jpeg(TJFLAG_PROGRESSIVE, TJSAMP_444),
                                    some_jpeg(0, TJSAMP_GRAY),    some_png(PNG_FORMAT_RGB, 3),
                                    some_png(PNG_FORMAT_RGBA, 4), some_png(PNG_FORMAT_GRAY, 1)};
               },
           .read = read_image,
           .words = {"\xff\xd8", "\xff\xc0", "\xff\xc2", "\xff\xda", "IHDR", "PLTE", "tRNS", "IDAT", "IEND"}},
          {.name = "csv",
           .seeds =
               [] {
                 return std::vector<std::string>{"label,a,b\n0,1.5,-2\n1,2e3,0.25\n",
                                                 "\xef\xbb\xbfy, ids.0 ,ids.1,\"f.0\"\r\n1,2,3,\"0.5\"\r\n",
                                                 "a,b,label\n\n1,2,0\n+3,-4,1"};
               },
           .read = read_csv_file,
           .words = {"label", "ids.0", "ids.2", "1e999", "nan", "inf", "\"\"", ",,", "\r\n"}}};
}

}  // namespace partita
