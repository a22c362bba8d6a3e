#include "runtime/device/cpu/row_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/finite.h"
#include "base/philox.h"
#include "base/shape.h"
#include "runtime/device/cpu/onednn/engine.h"

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

Array random_numbers(const Type& type) {
  Array array(type);
  for (int64_t i = 0; i < type.elements(); ++i) array.set(i, random_normal(13, static_cast<uint64_t>(i), 0));
  return array;
}

/// Returns an array in oneDNN's format, in memory with nothing after it. Padding has bits of NaN: nobody reads zeros
/// there.
std::vector<std::byte> formatted(const Array& dense, const MemoryFormat& format) {
  std::vector<std::byte> result(static_cast<size_t>(format.bytes));
  const Type& type = dense.type();
  const auto to_format = make_onednn_reorder(type, MemoryFormat{}, format);
  Array ones(type);
  std::memset(ones.data(), 0xff, static_cast<size_t>(type.bytes()));
  std::vector<std::byte> is_element(result.size());
  const auto reorder = [&](const Array& array, std::vector<std::byte>& memory) {
    const void* from = array.tensor().data;
    void* to = memory.data();
    to_format->run({&from, 1}, {&to, 1}, nullptr);
  };
  reorder(ones, is_element);
  reorder(dense, result);
  for (size_t i = 0; i < result.size(); ++i) {
    if (is_element[i] == std::byte{0}) result[i] = std::byte{0xff};
  }
  return result;
}

/// Memory that begins `offset` elements after the start of a cache line. The byte after it must not change.
class Target {
 public:
  Target(int64_t bytes, size_t offset) : memory_(static_cast<size_t>(bytes) + 64 + 4 * offset + 1, std::byte{0x5a}) {
    begin_ = memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64 + 4 * offset;
    bytes_ = static_cast<size_t>(bytes);
  }
  void* data() { return begin_; }
  void expect(const void* bytes) const {
    EXPECT_EQ(std::memcmp(begin_, bytes, bytes_), 0);
    EXPECT_EQ(begin_[bytes_], std::byte{0x5a}) << "written behind the rows";
  }

 private:
  std::vector<std::byte> memory_;
  std::byte* begin_;
  size_t bytes_;
};

/// Reads all rows in groups of `most`, from what oneDNN makes of the array, and compares.
void expect_rows(const Type& type, const std::string& tag, int64_t most) {
  const MemoryFormat format{tag, format_bytes(type, {tag, 1})};
  const int64_t rows = type.shape[0], row = type.bytes() / rows;
  const auto reader = make_row_reader(type, format);
  for (const bool finite : {false, true}) {
    const Array dense = finite ? random_numbers(type) : random_bits(type);
    const std::vector<std::byte> from = formatted(dense, format);
    for (int64_t first = 0; first < rows; first += most) {
      SCOPED_TRACE(fmt::format("{} in {}, rows from {}, at most {}", print(type), tag, first, most));
      const int64_t last = std::min(first + most, rows), bytes = (last - first) * row;
      const auto* expected = static_cast<const std::byte*>(dense.tensor().data) + first * row;
      Target read(bytes, 1);
      reader->read(from.data(), first, last, read.data());
      read.expect(expected);
      for (const size_t offset : {0, 3}) {
        Target rows_read(bytes, 0), copy(bytes, offset);
        EXPECT_EQ(reader->read_and_copy(from.data(), first, last, rows_read.data(), copy.data()),
                  are_finite(type.dtype, expected, bytes / 4));
        rows_read.expect(expected);
        copy.expect(expected);
      }
    }
  }
}

// The memory formats that convolutions choose on some processor; sizes that blocks divide, and others, which are
// padded.
TEST(RowReader, ReadsWhatOneDnnWrites) {
  for (const char* tag :
       {"acdb",     "aBcd16b",  "aBcd8b",   "aBcd4b",   "cdba",    "bcda",       "ABcd16b16a", "ABcd16a16b",
        "ABcd8b8a", "ABcd8a8b", "ABcd4b4a", "ABcd4a4b", "Acdb16a", "Acdb8a",     "Acdb4a",     "Abcd16a",
        "Abcd8a",   "Abcd4a",   "Acdb32a",  "Acdb48a",  "Acdb64a", "BAcd16a16b", "BAcd16b16a"}) {
    for (const Shape& shape : {Shape{64, 32, 3, 3}, {37, 19, 1, 1}, {50, 3, 7, 7}, {1, 5, 2, 1}, {50, 160, 1, 1}}) {
      for (const int64_t most : {int64_t{5}, int64_t{24}, shape[0]}) expect_rows({DType::f32, shape}, tag, most);
    }
  }
}

TEST(RowReader, ReadsMatricesAndWholeNumbers) {
  expect_rows({DType::f32, {33, 20}}, "ba", 7);
  expect_rows({DType::i32, {32, 16, 2, 2}}, "ABcd16b16a", 9);
}

TEST(RowReader, OneNumberThatIsNotFiniteIsSeenWhereverItIs) {
  const Type type{DType::f32, {16, 4, 2, 2}};
  const MemoryFormat format{"ABcd16b16a", format_bytes(type, {"ABcd16b16a", 1})};
  const auto reader = make_row_reader(type, format);
  Target read(type.bytes(), 0), copy(type.bytes(), 0);
  for (int64_t place = 0; place < type.elements(); ++place) {
    Array dense = random_numbers(type);
    dense.set(place, place % 2 == 0 ? INFINITY : NAN);
    const std::vector<std::byte> from = formatted(dense, format);
    EXPECT_FALSE(reader->read_and_copy(from.data(), 0, 16, read.data(), copy.data())) << place;
  }
}

// Shards of uneven sizes lie in memory for the largest.
TEST(RowReader, MemoryMayBeLarger) {
  const Type type{DType::f32, {40, 16, 3, 3}};
  const Array dense = random_numbers(type);
  MemoryFormat format{"ABcd16b16a", format_bytes(type, {"ABcd16b16a", 1})};
  const std::vector<std::byte> from = formatted(dense, format);
  format.bytes *= 2;
  Target read(type.bytes(), 0);
  make_row_reader(type, format)->read(from.data(), 0, 40, read.data());
  read.expect(dense.tensor().data);
}

TEST(RowReader, RefusesWhatIsNoFormat) {
  for (const char* tag : {"plain", "abc", "aacd", "ABce16b16a", "abcd16", "16a"}) {
    EXPECT_THROW(make_row_reader({DType::f32, {4, 4, 2, 2}}, {tag, 256}), InternalError) << tag;
  }
  EXPECT_THROW(make_row_reader({DType::f64, {4, 4}}, {"ba", 128}), InternalError);
  EXPECT_THROW(make_row_reader({DType::f32, {0, 4}}, {"ba", 0}), InternalError);
}

}  // namespace
}  // namespace partita
