#include "frontend/data/open_dataset.h"

#include <cstdlib>

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

std::string print(const std::vector<Column>& columns) {
  std::string text;
  for (const Column& column : columns)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", column.name, print(column.type));
  return text;
}

Bytes labels_of_ten(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i % 10);
  return bytes;
}

const RowFormat kImageRows{.image = Type{DType::u8, {12, 12, 1}}, .classes = 4};

TEST(OpenDataset, ColumnsAreKnownWithoutOpening) {
  for (const RowFormat& format :
       {kImageRows, RowFormat{.image = Type{DType::u8, {12, 12, 3}}, .resize = 8, .dtype = DType::f64},
        RowFormat{.input = "tokens", .text = {.tokens = 16}}}) {
    EXPECT_EQ(print(columns_of(DataSource(), format)),
              print(open_dataset(DataSource(), Split::train, format)->columns()));
  }
  EXPECT_EQ(print(columns_of({DataKind::mnist, {"none"}}, kImageRows)), "image f32[1,28,28], label i32[]");
  EXPECT_EQ(print(columns_of({DataKind::cifar10, {"none"}}, kImageRows)), "image f32[3,32,32], label i32[]");
}

TEST(OpenDataset, GeneratedImagesHaveThreeDimensions) {
  const RowFormat format{.image = Type{DType::u8, {12, 12}}};
  const char* expected =
      "[data] generated images have another number of dimensions, got u8[12,12], expected u8[height,width,channels]";
  expect_error<InvalidArgument>([&] { columns_of(DataSource(), format); }, expected);
  expect_error<InvalidArgument>([&] { open_dataset(DataSource(), Split::train, format); }, expected);
}

TEST(OpenDataset, RowsOfAnotherKindAreRefused) {
  expect_error<InvalidArgument>(
      [] {
        open_dataset({DataKind::text, {"a"}}, Split::train, kImageRows);
      },
      "[--data] the model cannot read these rows, got text");
  expect_error<InvalidArgument>(
      [] {
        open_dataset({DataKind::mnist, {"a"}}, Split::train, {.text = {.tokens = 4}});
      },
      "got mnist, expected text:FILE");
}

TEST(OpenDataset, NumpyImagesAreScaledAndLabelsAreIds) {
  const TempDir dir;
  const auto x = dir.write("x.npy", npy("|u1", "(5, 12, 12)", labels_of_ten(5 * 144)));
  const auto y = dir.write("y.npy", npy("<i8", "(5,)", Bytes(40)));
  const DataSource source{DataKind::npy, {x, y}};
  const DatasetPtr rows = open_dataset(source, Split::train, kImageRows);
  EXPECT_EQ(print(rows->columns()), "image f32[1,12,12], label i32[]");
  EXPECT_EQ(rows->size(), 5);
  EXPECT_FALSE(has_rows(source, Split::test));
  expect_error<InvalidArgument>([&] { open_dataset(source, Split::test, kImageRows); }, "[--data] no rows to test on");
  const DataSource both{DataKind::npy, {x, y, x, y}};
  EXPECT_TRUE(has_rows(both, Split::test));
  const Row row = open_dataset(both, Split::test, kImageRows)->row(0, 0);
  EXPECT_NEAR(row[0].at(3), (3 / 255.0 - 0.5) / 0.25, 1e-6);
}

TEST(OpenDataset, FloatsGetTheTypeOfTheNetwork) {
  const TempDir dir;
  const auto x = dir.write("x.npy", npy("<f8", "(2, 3)", Bytes(48))),
             y = dir.write("y.npy", npy("|u1", "(2,)", {1, 2}));
  EXPECT_EQ(print(open_dataset({DataKind::npy, {x, y}}, Split::train, kImageRows)->columns()),
            "image f32[3], label i32[]");
}

TEST(OpenDataset, ArraysWithOtherNumbersOfRowsAreRefused) {
  const TempDir dir;
  const auto x = dir.write("x.npy", npy("|u1", "(2, 3)", Bytes(6))),
             y = dir.write("y.npy", npy("|u1", "(3,)", Bytes(3)));
  EXPECT_THROW(open_dataset({DataKind::npy, {x, y}}, Split::train, kImageRows), InvalidFile);
}

/// Writes a .npz of `arrays`, named as by NumPy's savez, and returns its path.
std::filesystem::path npz(const TempDir& dir, const std::string& arrays) {
  const auto path = dir.path() / "rows.npz";
  const std::string command = fmt::format(
      "/usr/bin/python3 -c \"import numpy as np; x = np.zeros((4, 6, 6), np.uint8); y = np.arange(4); "
      "np.savez('{}', {})\"",
      path.string(), arrays);
  EXPECT_EQ(std::system(command.c_str()), 0);
  return path;
}

TEST(OpenDataset, NpzFindsLabelsByTheirNames) {
  const TempDir dir;
  const auto columns = [&](const std::string& arrays, Split split) {
    return print(open_dataset({DataKind::npz, {npz(dir, arrays)}}, split, kImageRows)->columns());
  };
  EXPECT_EQ(columns("y=y, x=x", Split::train), "image f32[1,6,6], label i32[]");
  EXPECT_EQ(columns("label=y, mask=x, image=x", Split::train), "image f32[1,6,6], label i32[], mask i32[6,6,1]");
  EXPECT_EQ(columns("x_train=x, y_train=y, x_test=x, y_test=y", Split::test), "image f32[1,6,6], label i32[]");
  expect_error<InvalidFile>([&] { columns("a=x, b=y", Split::train); }, "no labels, got arrays [a, b]");
  EXPECT_FALSE(has_rows({DataKind::npz, {npz(dir, "x=x, y=y")}}, Split::test));
  EXPECT_TRUE(has_rows({DataKind::npz, {npz(dir, "x_train=x, y_train=y, x_test=x, y_test=y")}}, Split::test));
}

// Arrays of complex numbers cannot be read, and are not read if they are not rows of the split.
TEST(OpenDataset, ArraysOfTheOtherSplitAreNotRead) {
  const TempDir dir;
  const DataSource source{DataKind::npz, {npz(dir, "x_train=x, y_train=y, x_test=x * 1j, y_test=y")}};
  EXPECT_TRUE(has_rows(source, Split::test));
  EXPECT_EQ(print(open_dataset(source, Split::train, kImageRows)->columns()), "image f32[1,6,6], label i32[]");
  expect_error<InvalidFile>([&] { open_dataset(source, Split::test, kImageRows); }, "element type not supported");
}

TEST(OpenDataset, LabelsOutsideTheClassesAreRefused) {
  const TempDir dir;
  const auto x = dir.write("x.npy", npy("|u1", "(3, 12, 12)", labels_of_ten(3 * 144)));
  const auto read = [&](const Bytes& labels, const RowFormat& format) {
    const DataSource source{DataKind::npy, {x, dir.write("y.npy", npy("<i8", "(3,)", labels))}};
    return open_dataset(source, Split::train, format);
  };
  Bytes labels(24);
  RowFormat ids = kImageRows, numbers = kImageRows;
  ids.labels_are_classes = true;
  labels[8] = 3;
  EXPECT_EQ(read(labels, ids)->size(), 3);
  labels[8] = 4;
  expect_error<InvalidFile>([&] { read(labels, ids); },
                            "[npy] 'label' out of range at row 1, got 4, expected 0 to 3 (in npy:");
  EXPECT_EQ(read(labels, numbers)->size(), 3);
  RowFormat ignoring = ids;
  ignoring.ignored_label = 4;
  EXPECT_EQ(read(labels, ignoring)->size(), 3);
  ignoring.ignored_label = -100;
  expect_error<InvalidFile>([&] { read(labels, ignoring); }, "got 4, expected 0 to 3, or -100, which is ignored (in");
  labels[8] = 3;
  labels[20] = 1;  // 2^32 in row 2
  labels[16] = 3;
  expect_error<InvalidFile>([&] { read(labels, ids); }, "at row 2, got 4294967299, expected 0 to 3");
  expect_error<InvalidFile>([&] { read(labels, numbers); },
                            "at row 2, got 4294967299, expected -2147483648 to 2147483647");
}

}  // namespace
}  // namespace partita
