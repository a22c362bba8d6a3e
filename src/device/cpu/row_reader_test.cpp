#include "device/cpu/row_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/philox.h"
#include "base/shape.h"
#include "device/cpu/onednn/engine.h"

namespace partita {
namespace {

/// Different bits for each element, also those of numbers that are not finite.
Array random_bits(const Type& type) {
  Array array(type);
  auto* bytes = static_cast<std::byte*>(array.data());
  for (int64_t i = 0; i < type.bytes(); ++i) {
    bytes[i] = static_cast<std::byte>(random_below(11, static_cast<uint64_t>(i), 0, 256));
  }
  return array;
}

/// Reads all rows in groups of `most`, from what oneDNN makes of the array, and compares.
void expect_rows(const Type& type, const MemoryFormat& format, int64_t most) {
  const Array dense = random_bits(type);
  std::vector<std::byte> formatted(static_cast<size_t>(format_bytes(type, format)));
  const void* from = dense.tensor().data;
  void* to = formatted.data();
  if (format.plain()) {
    std::memcpy(to, from, formatted.size());
  } else {
    make_onednn_reorder(type, MemoryFormat{}, format)->run({&from, 1}, {&to, 1}, nullptr);
  }
  const auto reader = make_row_reader(type, format);
  const int64_t rows = type.shape[0], row = type.bytes() / rows;
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t last = std::min(first + most, rows);
    std::vector<std::byte> got(static_cast<size_t>((last - first) * row) + 1, std::byte{0x5a});
    reader->read(formatted.data(), first, last, got.data());
    EXPECT_EQ(std::memcmp(got.data(), static_cast<const std::byte*>(from) + first * row, got.size() - 1), 0)
        << print(type) << " in " << format.tag << ", rows " << first << " to " << last;
    EXPECT_EQ(got.back(), std::byte{0x5a}) << "written behind the rows";
  }
}

// The memory formats that convolutions choose on some processor; sizes that blocks divide, and others, which are
// padded.
TEST(RowReader, ReadsWhatOneDnnWrites) {
  for (const char* tag :
       {"plain",      "acdb",     "aBcd16b",  "aBcd8b",   "aBcd4b",   "cdba",    "bcda",       "ABcd16b16a",
        "ABcd16a16b", "ABcd8b8a", "ABcd8a8b", "ABcd4b4a", "ABcd4a4b", "Acdb16a", "Acdb8a",     "Acdb4a",
        "Abcd16a",    "Abcd8a",   "Abcd4a",   "Acdb32a",  "Acdb48a",  "Acdb64a", "BAcd16a16b", "BAcd16b16a"}) {
    for (const Shape& shape : {Shape{64, 32, 3, 3}, {37, 19, 1, 1}, {50, 3, 7, 7}, {1, 5, 2, 1}, {130, 300, 1, 1}}) {
      Type type{DType::f32, shape};
      MemoryFormat format{tag, 0};
      if (!format.plain()) format.bytes = format_bytes(type, format);
      for (const int64_t most : {int64_t{5}, int64_t{24}, shape[0]}) expect_rows(type, format, most);
    }
  }
}

TEST(RowReader, ReadsMatricesAndWholeNumbers) {
  const Type matrix{DType::f32, {33, 20}}, numbers{DType::i32, {32, 16, 2, 2}};
  expect_rows(matrix, {"ba", format_bytes(matrix, {"ba", 1})}, 7);
  expect_rows(numbers, {"ABcd16b16a", format_bytes(numbers, {"ABcd16b16a", 1})}, 9);
}

TEST(RowReader, OfPlainArraysTakesAnyElement) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::u8}) expect_rows({dtype, {6, 4}}, MemoryFormat{}, 4);
  const double value = 1.5;
  double got = 0;
  make_row_reader({DType::f64, {}}, MemoryFormat{})->read(&value, 0, 1, &got);
  EXPECT_EQ(got, value);
}

TEST(RowReader, RefusesWhatIsNoFormat) {
  for (const char* tag : {"abc", "ABce16b16a", "abcd16", "16a"}) {
    EXPECT_THROW(make_row_reader({DType::f32, {4, 4, 2, 2}}, {tag, 256}), InternalError) << tag;
  }
  EXPECT_THROW(make_row_reader({DType::f64, {4, 4}}, {"ba", 128}), InternalError);
}

}  // namespace
}  // namespace partita
