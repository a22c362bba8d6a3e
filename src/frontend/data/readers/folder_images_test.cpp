#include "frontend/data/readers/folder_images.h"

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/philox.h"
#include "frontend/data/open_dataset.h"
#include "frontend/data/readers/decode_image.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// A folder of a test, removed at its end.
class ImageFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("partita_images_{}_{}", test->name(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Smooth pixels, which JPEG keeps nearly as they are, of a class.
  static std::vector<uint8_t> pixels(int64_t height, int64_t width, int kind) {
    std::vector<uint8_t> made(static_cast<size_t>(height * width * 3));
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        uint8_t* pixel = made.data() + (y * width + x) * 3;
        pixel[0] = static_cast<uint8_t>(40 + 60 * kind);
        pixel[1] = static_cast<uint8_t>(200 * y / height);
        pixel[2] = static_cast<uint8_t>(200 * x / width);
      }
    }
    return made;
  }
  void write_jpeg(const std::string& name, int64_t height, int64_t width, int kind) const {
    fs::create_directories((folder_ / name).parent_path());
    const std::vector<uint8_t> image = pixels(height, width, kind);
    tjhandle encoder = tjInitCompress();
    unsigned char* bytes = nullptr;
    unsigned long size = 0;  // NOLINT: the library's type
    ASSERT_EQ(tjCompress2(encoder, image.data(), static_cast<int>(width), 0, static_cast<int>(height), TJPF_RGB, &bytes,
                          &size, TJSAMP_444, 95, 0),
              0);
    std::ofstream(folder_ / name, std::ios::binary).write(reinterpret_cast<char*>(bytes), static_cast<int64_t>(size));
    tjFree(bytes);
    tjDestroy(encoder);
  }
  void write_png(const std::string& name, int64_t height, int64_t width, int kind) const {
    fs::create_directories((folder_ / name).parent_path());
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    image.format = PNG_FORMAT_RGB;
    const std::vector<uint8_t> bytes = pixels(height, width, kind);
    ASSERT_NE(png_image_write_to_file(&image, (folder_ / name).c_str(), 0, bytes.data(), 0, nullptr), 0);
  }
  std::vector<char> bytes_of(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::vector<char>& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
  }

  fs::path folder_;
};

TEST_F(ImageFolder, DecodesBothKinds) {
  write_png("a.png", 5, 7, 1);
  write_jpeg("a.jpeg", 16, 24, 1);
  const Array exact = decode_image(folder_ / "a.png"), near = decode_image(folder_ / "a.jpeg");
  EXPECT_EQ(exact.type(), (Type{DType::u8, {5, 7, 3}}));
  EXPECT_EQ(std::memcmp(exact.as<uint8_t>(), pixels(5, 7, 1).data(), 5 * 7 * 3), 0);
  const std::vector<uint8_t> wanted = pixels(16, 24, 1);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(near.as<uint8_t>()[i], wanted[i], 6) << i;
}

TEST_F(ImageFolder, LabelsAreThePlacesOfClasses) {
  write_jpeg("train/dog/b.jpg", 40, 30, 1);
  write_png("train/cat/z.PNG", 20, 50, 0);
  write_jpeg("train/cat/a.jpg", 33, 33, 0);
  write_jpeg("val/dog/x.jpg", 64, 64, 1);
  fs::create_directories(folder_ / "train" / "empty");
  write("train/cat/notes.txt", {'n', 'o'});
  EXPECT_TRUE(has_folder_images(folder_, Split::train));
  EXPECT_TRUE(has_folder_images(folder_, Split::test));
  const DatasetPtr rows = read_folder_images(folder_, Split::train, {.height = 8, .width = 12}, 10);
  ASSERT_EQ(rows->size(), 3);
  for (const auto& [row, label, red] : {std::tuple{0, 0, 40}, std::tuple{1, 0, 40}, std::tuple{2, 1, 100}}) {
    const Row found = rows->row(0, row);
    EXPECT_EQ(found[0].type(), (Type{DType::u8, {8, 12, 3}}));
    EXPECT_EQ(found[1].as<int32_t>()[0], label);
    EXPECT_NEAR(found[0].as<uint8_t>()[0], red, 6);
  }
  const auto read = [&](Split split, int64_t classes) {
    return read_folder_images(folder_, split, {.height = 8, .width = 8}, classes);
  };
  const auto expect_refusal = [&](Split split, int64_t classes, const std::string& text) {
    try {
      read(split, classes);
      ADD_FAILURE() << text;
    } catch (const InvalidFile& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  expect_refusal(Split::train, 2, "more classes than the model has, got 3 folders");
  // Those of the test have the numbers of the training's, whichever of them have images.
  ASSERT_EQ(read(Split::test, 3)->size(), 1);
  EXPECT_EQ(read(Split::test, 3)->row(0, 0)[1].as<int32_t>()[0], 1);
  fs::create_directories(folder_ / "val" / "cat");
  EXPECT_EQ(read(Split::test, 3)->row(0, 0)[1].as<int32_t>()[0], 1);
  write_jpeg("val/bird/x.jpg", 64, 64, 1);
  expect_refusal(Split::test, 3, "a class that the training images lack, got '" + (folder_ / "val/bird").string());
  fs::create_symlink(folder_ / "none.jpg", folder_ / "train/dog/c.jpg");
  expect_refusal(Split::train, 3, "a link to nothing, got '");
}

TEST_F(ImageFolder, SamplesOf16BitsAreThoseOf8) {
  std::vector<uint16_t> fine;
  for (const uint8_t one : pixels(5, 7, 1)) fine.push_back(static_cast<uint16_t>(one * 257));
  FILE* file = fopen((folder_ / "a.png").c_str(), "wb");
  ASSERT_NE(file, nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, 7, 5, 16, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int row = 0; row < 5; ++row) png_write_row(png, reinterpret_cast<png_bytep>(fine.data() + row * 21));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  fclose(file);
  EXPECT_EQ(std::memcmp(decode_image(folder_ / "a.png").as<uint8_t>(), pixels(5, 7, 1).data(), 5 * 7 * 3), 0);
}

TEST_F(ImageFolder, WindowsAreDrawnByRowAndEpoch) {
  write_jpeg("cat/a.jpg", 200, 300, 0);
  const ImageWindow window{.height = 16, .width = 16, .augment = true, .seed = 3};
  const DatasetPtr rows = read_folder_images(folder_, Split::train, window, 2);
  const DatasetPtr again = read_folder_images(folder_, Split::train, window, 2);
  int mirrored = 0, others = 0;
  std::vector<uint8_t> first;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    const Row row = rows->row(epoch, 0), same = again->row(epoch, 0);
    const uint8_t* image = row[0].as<uint8_t>();
    EXPECT_EQ(std::memcmp(image, same[0].as<uint8_t>(), 16 * 16 * 3), 0);
    mirrored += image[2] > image[15 * 3 + 2];  // blue grows to the right
    if (first.empty()) first.assign(image, image + 16 * 16 * 3);
    others += std::memcmp(first.data(), image, first.size()) != 0;
    EXPECT_LE(image[1], image[15 * 16 * 3 + 1]) << epoch;  // green grows downwards
  }
  EXPECT_GT(mirrored, 8);
  EXPECT_LT(mirrored, 32);
  EXPECT_GT(others, 30);
}

TEST_F(ImageFolder, TheMiddleOfTestImagesIsTaken) {
  write_png("train/cat/a.png", 64, 128, 0);
  const Row row = read_folder_images(folder_, Split::train, {.height = 28, .width = 28}, 2)->row(0, 0);
  const uint8_t* image = row[0].as<uint8_t>();
  // 7/8 of the middle square: rows 4 to 60 of 64, columns 36 to 92 of 128.
  EXPECT_NEAR(image[1], 200 * 5 / 64, 4);
  EXPECT_NEAR(image[2], 200 * 37 / 128, 4);
  EXPECT_NEAR(image[(28 * 28 - 1) * 3 + 1], 200 * 59 / 64, 4);
  EXPECT_NEAR(image[(28 * 28 - 1) * 3 + 2], 200 * 91 / 128, 4);
}

TEST_F(ImageFolder, DamagedFilesAreNamed) {
  write_jpeg("a.jpg", 40, 40, 0);
  write_png("a.png", 40, 40, 1);
  for (const std::string name : {"a.jpg", "a.png"}) {
    const std::vector<char> whole = bytes_of(name);
    int refused = 0;
    for (uint64_t trial = 0; trial < 300; ++trial) {
      std::vector<char> bytes = whole;
      if (trial % 3 == 0) bytes.resize(random_below(7, trial, 0, bytes.size()));
      for (uint64_t k = 0; trial % 3 != 0 && k < 4; ++k) {
        bytes[random_below(8, trial, k, bytes.size())] = static_cast<char>(random_below(9, trial, k, 256));
      }
      write("broken", bytes);
      try {
        const Array image = decode_image(folder_ / "broken");
        EXPECT_EQ(image.type().shape[2], 3);
      } catch (const InvalidFile& error) {
        ++refused;
        EXPECT_NE(std::string(error.what()).find("broken"), std::string::npos) << error.what();
      }
    }
    EXPECT_GT(refused, 100) << name;
  }
  EXPECT_THROW(decode_image(folder_ / "missing.jpg"), MissingFile);
}

TEST_F(ImageFolder, BecomeThoseOfTheNetwork) {
  write_jpeg("train/cat/a.jpg", 50, 70, 0);
  write_jpeg("train/dog/a.jpg", 70, 50, 1);
  const DataSource source{DataKind::images, {folder_.string()}};
  RowFormat format;
  format.input_shape = {3, 24, 24};
  const DatasetPtr rows = open_dataset(source, Split::train, format);
  EXPECT_EQ(rows->columns()[0].type, (Type{DType::f32, {3, 24, 24}}));
  EXPECT_EQ(columns_of(source, format)[0].type, rows->columns()[0].type);
  const Row row = rows->row(0, 0);
  const int kind = row[1].as<int32_t>()[0];
  EXPECT_NEAR(row[0].as<float>()[0], ((40 + 60 * kind) / 255.0 - 0.485) / 0.229, 0.1);
  EXPECT_FALSE(has_rows(source, Split::test));
  format.input_shape = {3, kAnySize, kAnySize};
  EXPECT_THROW(open_dataset(source, Split::train, format), InvalidArgument);
}

}  // namespace
}  // namespace partita
