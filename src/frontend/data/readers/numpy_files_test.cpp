#include "frontend/data/readers/numpy_files.h"

#include <sys/resource.h>

#include <cstdlib>
#include <random>

#include "base/free_memory.h"
#include "base/test_memory.h"
#include "frontend/data/readers/array_rows.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"

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
  expect(npy("<f8", "(1000000000,)", {1}), "cut file");  // without allocating 8 GB first
  expect(npy("|u1", "4", {1}), "no tuple");
  expect(npy("|u1", "(6 4, 1)", Bytes(64)), "got '4' in the shape");
  expect(npy("|u1", "(0, 17179869185)", {}), "too large");
  expect(npy("|u1", "(20000000000, 0)", {}), "too large");
  expect(npy("|u1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", {1}), "too many dimensions");
  Bytes records = npy("|u1", "(1,)", {1});
  *std::ranges::find(records, '|') = '\'';
  expect(records, "element type not supported");
  Bytes longer{0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0, 0, 1, 1};
  expect(longer, "header too long");
  expect_error<Error>([&] { read_npz(dir.path() / std::string(300, 'a')); }, "aaaa");
}

/// Returns the number after `key` in the status of this process, in bytes.
int64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string name;
  int64_t number = 0;
  while (file >> name) {
    if (name == key && file >> number) return number * 1024;
    file.ignore(1000, '\n');
  }
  return 0;
}

/// Returns the peak memory of `action`, above what was allocated before.
int64_t peak_bytes(const std::function<void()>& action) {
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
  const int64_t before = status_bytes("VmRSS:");
  action();
  return status_bytes("VmHWM:") - before;
}

// Elements of every type, in both orders, more than are converted at a time.
TEST(Npy, ReadsManyElementsOfEveryType) {
  const TempDir dir;
  std::mt19937 random(3);
  const std::map<std::string, std::pair<int64_t, DType>> types{
      {"<f8", {8, DType::f64}}, {"<f4", {4, DType::f32}}, {"<i8", {8, DType::i64}}, {"<u4", {4, DType::u32}},
      {"|u1", {1, DType::u8}},  {"|i1", {1, DType::i32}}, {"<i2", {2, DType::i32}}, {"<u2", {2, DType::i32}}};
  const Shape shape{70, 190, 101};
  for (const auto& [descr, type] : types) {
    Bytes data(static_cast<size_t>(elements(shape) * type.first));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i % size_t(type.first) < 2 ? random() : 0);
    const std::string text = fmt::format("({})", fmt::join(shape, ", "));
    const Array rows = read_npy(dir.write("a.npy", npy(descr, text, data)));
    const Bytes other_order = npy(descr, text, data, /*column_major=*/true);
    // Compression takes most of the time, and does not depend on the type.
    const Array columns =
        read_npy(descr == "<i2" ? dir.write("a.npy.gz", gzip(other_order)) : dir.write("b.npy", other_order));
    ASSERT_EQ(rows.type(), (Type{type.second, shape}));
    ASSERT_EQ(columns.type(), rows.type());
    for (int trial = 0; trial < 2000; ++trial) {
      const int64_t i = random() % 70, j = random() % 190, k = random() % 101;
      const int64_t place = (i * 190 + j) * 101 + k, other = (k * 190 + j) * 70 + i;  // its index in either file
      const auto* bytes = data.data();
      const auto value = [&](int64_t at) {
        const uint8_t* from = bytes + at * type.first;
        if (descr == "|i1") return double(static_cast<int8_t>(from[0]));
        if (descr == "<i2") return double(static_cast<int16_t>(from[0] | from[1] << 8));
        if (descr == "<u2") return double(from[0] | from[1] << 8);
        if (descr == "|u1") return double(from[0]);
        if (descr == "<i8" || descr == "<u4") return double(from[0] | from[1] << 8);
        double f8;
        float f4;
        std::memcpy(&f8, from, type.first == 8 ? 8 : 0);
        std::memcpy(&f4, from, type.first == 4 ? 4 : 0);
        return type.first == 8 ? f8 : double(f4);
      };
      ASSERT_EQ(rows.at(place), value(place)) << descr;
      ASSERT_EQ(columns.at(place), value(other)) << descr;
    }
  }
}

TEST(Npy, TakesNoMoreThanTheFile) {
  if (!can_use_up_memory()) GTEST_SKIP() << "sanitizers take more";
  const TempDir dir;
  const int64_t rows = 40'000, bytes = rows * 28 * 28;  // 31 MB
  const auto x =
      dir.write("x.npy", npy("|u1", fmt::format("({}, 28, 28)", rows), Bytes(static_cast<size_t>(bytes), 7)));
  const auto y = dir.write("y.npy", npy("<i8", fmt::format("({},)", rows), Bytes(static_cast<size_t>(8 * rows))));
  DatasetPtr data;
  const int64_t plain = peak_bytes([&] { data = read_array_rows({DataKind::npy, {x, y}}, Split::train, "image"); });
  EXPECT_EQ(data->size(), rows);
  EXPECT_EQ(print(data->columns()[0].type), "u8[28,28,1]");
  EXPECT_LT(static_cast<double>(plain), 1.1 * static_cast<double>(bytes + 8 * rows));
  // Column-major data is reordered while it is read.
  const auto by_columns = dir.write(
      "t.npy", npy("<f4", fmt::format("({}, 196)", rows), Bytes(static_cast<size_t>(bytes), 1), /*column_major=*/true));
  data.reset();
  const int64_t columns = peak_bytes([&] { EXPECT_EQ(read_npy(by_columns).shape()[0], rows); });
  EXPECT_LT(static_cast<double>(columns), 1.1 * static_cast<double>(bytes) + (4 << 20));
}

TEST(Npz, WhatIsDeclaredIsComparedWithTheFileAndTheMachine) {
  if (!can_use_up_memory()) GTEST_SKIP() << "sanitizers take all addresses";
  const TempDir dir;
  const std::string file = (dir.path() / "a.npz").string();
  const auto write = [&](int64_t declared, int64_t held, const char* how) {
    std::string header = fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},)}}", declared);
    header.resize(117, ' ');
    const Bytes begin = [&] {
      Bytes bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
      bytes.insert(bytes.end(), header.begin(), header.end());
      bytes.push_back('\n');
      return bytes;
    }();
    const std::string start = dir.write("start", begin).string();
    const std::string code = fmt::format(
        "import zipfile as z; z.ZipFile('{}', 'w', z.{}).writestr('x.npy', open('{}', 'rb').read() + bytes({}))", file,
        how, start, held);
    return std::system(fmt::format("/usr/bin/python3 -c \"{}\"", code).c_str()) == 0;
  };
  // Ten gigabytes declared in a file of a few bytes, in one of ten megabytes, and in one that would really hold them.
  for (const char* how : {"ZIP_STORED", "ZIP_DEFLATED"}) {
    ASSERT_TRUE(write(10'600'000'000, 1000, how));
    EXPECT_LT(peak_bytes([&] { expect_error<InvalidFile>([&] { read_npz(file); }, "[npy] cut file in"); }), 8 << 20);
  }
  ASSERT_TRUE(write(300'000'000, 300'000'000, "ZIP_DEFLATED"));
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(status_bytes("VmSize:")) + (100 << 20);
  ::setrlimit(RLIMIT_AS, &limit);
  std::string reason;
  const int64_t taken = peak_bytes([&] {
    try {
      read_npz(file);
    } catch (const RuntimeFailure& error) {
      reason = error.what();
      EXPECT_EQ(error.code(), ExitCode::out_of_memory);
    }
  });
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(reason.find("does not fit into memory, got u8[300000000] of 286.1 MiB, expected at most the "),
            std::string::npos)
      << reason;
  EXPECT_LT(taken, 8 << 20);
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

/// Writes a file of zeros that takes no place on the disk: a header, and `bytes` bytes.
std::filesystem::path sparse_npy(const TempDir& dir, const std::string& name, const std::string& descr,
                                 const std::string& shape, int64_t bytes, bool column_major = false) {
  const Bytes header = npy(descr, shape, {}, column_major);
  const auto path = dir.write(name, header);
  std::filesystem::resize_file(path, header.size() + static_cast<uintmax_t>(bytes));
  return path;
}

void put_byte(const std::filesystem::path& path, int64_t from_end, char byte) {
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(-from_end, std::ios::end);
  stream.put(byte);
}

constexpr int64_t kManyRows = 9 << 20;

TEST(NpyRows, LargeFilesAreReadInPlace) {
  const TempDir dir;
  const auto x = sparse_npy(dir, "x.npy", "<i2", "(9437184, 4)", kManyRows * 8),
             y = sparse_npy(dir, "y.npy", "<i8", "(9437184,)", kManyRows * 8);
  put_byte(x, 16 + 8, 7);  // row 3 from the end, element 0
  put_byte(y, 3 * 8, 5);
  const DataSource source{DataKind::npy, {x, y}};
  const DatasetPtr rows = read_array_rows(source, Split::train, "features", LabelRange{.classes = 6});
  ASSERT_EQ(rows->size(), kManyRows);
  EXPECT_EQ(print(rows->columns()[0].type), "i32[4]");
  const Row row = rows->row(0, kManyRows - 3);
  EXPECT_EQ(numbers(row[0]), (std::vector<double>{7, 0, 0, 0}));
  EXPECT_EQ(values(row[1]), std::vector<int64_t>{5});
  // Rows next to each other are read together.
  const std::vector<int64_t> indices{5, kManyRows - 4, kManyRows - 3, kManyRows - 2, 2};
  Array some({DType::i32, {5, 4}}), labels({DType::i64, {5}});
  rows->read(0, indices, std::vector<Tensor>{{some.type(), some.data()}, {labels.type(), labels.data()}});
  EXPECT_EQ(values(labels), (std::vector<int64_t>{0, 0, 5, 0, 0}));
  EXPECT_EQ(some.at(8), 7);
  const DatasetPtr fewer = read_array_rows(source, Split::train, "features", LabelRange{.classes = 5});
  expect_error<InvalidFile>([&] { fewer->row(0, kManyRows - 3); },
                            "[npy] 'label' out of range at row 9437181, got 5, expected 0 to 4 (in npy:");
  std::filesystem::resize_file(y, 100);
  expect_error<InvalidFile>([&] { rows->row(0, 50); }, "[data] cut file");
}

TEST(NpyRows, LargeFilesOfAnotherFormAreRefused) {
  const TempDir dir;
  const auto y = dir.write("y.npy", npy("|u1", "(3,)", {1, 2, 3}));
  const auto refuses = [&](const std::string& descr, const std::string& shape, const std::string& part) {
    const auto x = sparse_npy(dir, "x.npy", descr, shape, 80 << 20);
    expect_error<InvalidFile>([&] { read_array_rows({DataKind::npy, {x, y}}, Split::train, "x"); }, part);
  };
  refuses("|u1", "(83886081,)", "[npy] cut file in '");
  refuses("|u1", "(83886079,)", "[npy] file too long in '");
  refuses("|u1", "(3, 5000000000, 5000000000)", "[npy] too large in '");
  refuses("|u1", "(0, 5000000000, 5000000000)", "[npy] too large in '");
  refuses("|u1", "()", "[npy] file too long in '");
  refuses("<c8", "(4,)", "[npy] element type not supported in '");
  refuses("|u1", "(83886080,)",
          "columns differ in length, got 3 rows of 'label', expected 83886080 as in 'x' (in npy:");
}

// Numbers of other orders are sorted when they are read, so they are kept in memory.
TEST(NpyRows, GreyImagesInPlaceHaveAChannel) {
  const TempDir dir;
  const auto y = dir.write("y.npy", npy("|u1", "(3,)", {1, 2, 3}));
  const auto x = sparse_npy(dir, "x.npy", "|u1", "(3, 5000, 5000)", 75'000'000);
  EXPECT_EQ(print(read_array_rows({DataKind::npy, {x, y}}, Split::train, "x")->columns()[0].type), "u8[5000,5000,1]");
  const auto z = sparse_npy(dir, "z.npy", "<f4", "(3, 6000000)", 72'000'000, /*column_major=*/true);
  EXPECT_EQ(read_array_rows({DataKind::npy, {z, y}}, Split::train, "x")->size(), 3);
}

}  // namespace
}  // namespace partita
