#include "frontend/data/readers/mnist.h"

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

Bytes idx(uint32_t magic, const std::vector<uint32_t>& sizes, const Bytes& elements) {
  Bytes bytes;
  const auto word = [&](uint32_t value) {
    for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(value >> shift));
  };
  word(magic);
  for (uint32_t size : sizes) word(size);
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

constexpr const char* kImageFile = "train-images-idx3-ubyte";
constexpr const char* kLabels = "train-labels-idx1-ubyte";

Bytes three_images() {
  Bytes pixels(3 * 784);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  return idx(0x803, {3, 28, 28}, pixels);
}

TEST(Mnist, ReadsImagesAndLabels) {
  const TempDir dir;
  dir.write(std::string(kImageFile) + ".gz", gzip(three_images()));
  dir.write(std::string(kLabels) + ".xz", xz(idx(0x801, {3}, {7, 0, 9})));
  const DatasetPtr data = read_mnist(dir.path(), Split::train);
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->columns()[0].name, "image");
  EXPECT_EQ(print(data->columns()[0].type), "u8[28,28,1]");
  EXPECT_EQ(print(data->columns()[1].type), "i32[]");
  const Row row = data->row(0, 2);
  EXPECT_EQ(row[0].at(5), (2 * 784 + 5) % 256);
  EXPECT_EQ(row[1].at(0), 9);
  EXPECT_THROW(data->row(0, 3), InvalidArgument);
  EXPECT_THROW(data->row(0, -1), InvalidArgument);
  EXPECT_THROW(data->row(-1, 0), InvalidArgument);
}

TEST(Mnist, RefusesBadImages) {
  const TempDir dir;
  dir.write(kLabels, idx(0x801, {3}, {7, 0, 9}));
  const auto refuse = [&](const Bytes& images, const std::string& part) {
    dir.write(kImageFile, images);
    expect_error<InvalidFile>([&] { read_mnist(dir.path(), Split::train); }, part);
  };
  const Bytes good = three_images();
  refuse({}, "truncated header");
  refuse(Bytes(good.begin(), good.begin() + 15), "at byte 15");
  refuse(Bytes(good.begin(), good.end() - 1), "got 2351 elements, expected 2352");
  Bytes longer = good;
  longer.push_back(0);
  refuse(longer, "data after the end");
  refuse(idx(0x801, {3, 28, 28}, Bytes(3 * 784)), "wrong magic number");
  refuse(idx(0x803, {3, 28, 27}, Bytes(3 * 784)), "got 27, expected 28");
  refuse(idx(0x803, {2, 28, 28}, Bytes(2 * 784)), "got 2 images, expected 3");
  refuse(idx(0x803, {0xffffffff, 28, 28}, Bytes(784)), "too many elements");
  refuse(idx(0x803, {2'000'000, 28, 28}, Bytes(784)), "truncated data");
}

TEST(Mnist, RefusesBadLabelsAndMissingFiles) {
  const TempDir dir;
  expect_error<MissingFile>([&] { read_mnist(dir.path(), Split::train); }, kImageFile);
  dir.write(kImageFile, three_images());
  expect_error<MissingFile>([&] { read_mnist(dir.path(), Split::train); }, kLabels);
  dir.write(kLabels, idx(0x801, {3}, {7, 10, 9}));
  expect_error<InvalidFile>([&] { read_mnist(dir.path(), Split::train); }, "at byte 9, got 10");
  dir.write(std::string("t10k-images-idx3-ubyte.gz"), gzip(idx(0x803, {1, 28, 28}, Bytes(1'000'000))));
  dir.write("t10k-labels-idx1-ubyte", idx(0x801, {1}, {0}));
  expect_error<InvalidFile>([&] { read_mnist(dir.path(), Split::test); }, "data after the end");
}

TEST(Mnist, ReadsTheRealFiles) {
  const auto directory = real_data("mnist");
  if (directory.empty()) GTEST_SKIP() << "no MNIST files";
  const DatasetPtr train = read_mnist(directory, Split::train);
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(train->row(0, 0)[1].at(0), 5);
  EXPECT_EQ(train->row(0, 1)[1].at(0), 0);
  EXPECT_EQ(train->row(0, 2)[1].at(0), 4);
  const DatasetPtr test = read_mnist(directory, Split::test);
  EXPECT_EQ(test->size(), 10000);
  EXPECT_EQ(test->row(0, 0)[1].at(0), 7);
}

}  // namespace
}  // namespace partita
