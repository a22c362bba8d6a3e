#include "data/readers/numpy_files.h"

#include <cstdlib>

#include "data/readers/memory_rows.h"
#include "data/readers/test_files.h"

namespace partita {
namespace {

TEST(Npy, ReadsTypesShapesAndOrders) {
  const TempDir dir;
  const auto read = [&](const Bytes& file) { return read_npy(dir.write("a.npy", file)); };
  const Array bytes = read(npy("|u1", "(2, 3)", {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(print(bytes.type()), "u8[2,3]");
  EXPECT_EQ(numbers(bytes), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(read(npy("|u1", "(2, 3)", {1, 4, 2, 5, 3, 6}, /*column_major=*/true))), numbers(bytes));
  const Array scalar = read(npy("<f4", "()", {0, 0, 0x80, 0x3f}));
  EXPECT_EQ(print(scalar.type()), "f32[]");
  EXPECT_EQ(scalar.at(0), 1);
  EXPECT_EQ(numbers(read(npy("<i2", "(2,)", {0xff, 0xff, 1, 1}))), (std::vector<double>{-1, 257}));
  EXPECT_EQ(read(npy("<i2", "(2,)", {0xff, 0xff, 1, 1})).type().dtype, DType::i32);
  EXPECT_EQ(numbers(read(npy("|b1", "(2,)", {0, 7}))), (std::vector<double>{0, 1}));
  EXPECT_EQ(read(npy("<f8", "(0, 5)", {})).shape(), (Shape{0, 5}));
  EXPECT_EQ(read_npy(dir.write("a.npy.gz", gzip(npy("|u1", "(1,)", {9})))).at(0), 9);
}

TEST(Npy, RefusesWhatItCannotRead) {
  const TempDir dir;
  const auto expect = [&](const Bytes& file, const std::string& part) {
    expect_error<InvalidFile>([&] { read_npy(dir.write("a.npy", file)); }, part);
  };
  expect_error<MissingFile>([&] { read_npy(dir.path() / "none.npy"); }, "none.npy");
  expect({}, "cut file");
  expect({1, 2, 3, 4, 5, 6, 7, 8, 9}, "wrong magic");
  Bytes other = npy("|u1", "(1,)", {1});
  other[6] = 9;
  expect(other, "unknown version in");
  expect(npy("|u1", "(4,)", {1, 2}), "cut file in");
  expect(npy("|u1", "(1,)", {1, 2}), "file too long");
  expect(npy("|O", "(1,)", {1}), "element type not supported in");
  expect(npy(">f4", "(1,)", {1, 2, 3, 4}), "got >f4, expected one of <f8");
  expect(npy("|u1", "(-1,)", {1}), "got '-' in the shape");
  expect(npy("|u1", "(99999999999999999999,)", {1}), "too large");
  expect(npy("|u1", "(4000000000, 4000000000)", {1}), "too large");
  expect(npy("<f8", "(1000000000,)", {1}), "cut file");  // without taking 8 GB first
  expect(npy("|u1", "4", {1}), "no tuple");
  expect(npy("|u1", "(6 4, 1)", Bytes(64)), "got '4' in the shape");
  expect(npy("|u1", "(0, 17179869185)", {}), "too large");
  expect(npy("|u1", "(20000000000, 0)", {}), "too large");
  expect(npy("|u1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", {1}), "too many dimensions");
  Bytes records = npy("|u1", "(1,)", {1});
  *std::find(records.begin(), records.end(), '|') = '\'';
  expect(records, "element type not supported");
  Bytes longer{0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0, 0, 1, 1};
  expect(longer, "header too long");
  expect_error<Error>([&] { read_npz(dir.path() / std::string(300, 'a')); }, "aaaa");
}

TEST(Npz, ReadsWhatNumpyWrites) {
  const TempDir dir;
  const std::string file = (dir.path() / "a.npz").string();
  for (const char* save : {"savez", "savez_compressed"}) {
    const std::string code = fmt::format(
        "import numpy as n; n.{}('{}', image=n.arange(24, dtype='u1').reshape(2, 3, 4), label=n.array([7, 8]))", save,
        file);
    if (std::system(fmt::format("/usr/bin/python3 -c \"{}\" 2>/dev/null", code).c_str()) != 0)
      GTEST_SKIP() << "no NumPy";
    const auto arrays = read_npz(file);
    ASSERT_EQ(arrays.size(), 2);
    EXPECT_EQ(arrays[0].first, "image");
    EXPECT_EQ(print(arrays[0].second.type()), "u8[2,3,4]");
    EXPECT_EQ(arrays[0].second.at(23), 23);
    EXPECT_EQ(print(arrays[1].second.type()), "i64[2]");
    const DatasetPtr rows = memory_rows(arrays);
    EXPECT_EQ(rows->size(), 2);
    EXPECT_EQ(rows->row(0, 1)[1].at(0), 8);
  }
}

TEST(Npz, ReadsRealFiles) {
  const auto folder = real_data("onnx/mnist-8");
  if (folder.empty()) GTEST_SKIP() << "no files";
  const auto arrays = read_npz(folder / "test_data_0.npz");
  const std::map<std::string, Array> by_name(arrays.begin(), arrays.end());
  EXPECT_EQ(by_name.at("inputs").type().elements(), 784);
  EXPECT_EQ(by_name.at("outputs").type().elements(), 10);
}

TEST(Npy, SpacesEndNumbers) {
  const TempDir dir;
  EXPECT_EQ(read_npy(dir.write("a.npy", npy("|u1", "( 2 , 3 )", {1, 2, 3, 4, 5, 6}))).shape(), (Shape{2, 3}));
}

TEST(Npy, ReadsLaterVersions) {
  const TempDir dir;
  Bytes file = npy("|u1", "(2,)", {4, 5});
  file[6] = 2;
  file.insert(file.begin() + 10, {0, 0});
  EXPECT_EQ(numbers(read_npy(dir.write("a.npy", file))), (std::vector<double>{4, 5}));
}

TEST(Npz, RefusesOtherFiles) {
  const TempDir dir;
  expect_error<InvalidFile>([&] { read_npz(dir.write("a.npz", {1, 2, 3})); }, "[npz] not a zip file");
  expect_error<MissingFile>([&] { read_npz(dir.path() / "none.npz"); }, "none.npz");
}

}  // namespace
}  // namespace partita
