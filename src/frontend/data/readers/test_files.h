#pragma once
// Generated files and datasets for the tests of this folder.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "frontend/data/dataset.h"
#include "support/places.h"

namespace partita {

using Bytes = std::vector<uint8_t>;

/// A directory that is removed with the object.
class TempDir {
 public:
  TempDir() {
    std::string path = (std::filesystem::temp_directory_path() / "partita-XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir& operator=(TempDir&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    std::ofstream stream(path_ / name, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline Bytes gzip(const Bytes& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, bytes.size()) + 32);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline Bytes xz(const Bytes& bytes) {
  Bytes packed(lzma_stream_buffer_bound(bytes.size()));
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, bytes.data(), bytes.size(), packed.data(), &size,
                                    packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

/// Returns a .npy file of version 1: a header with `descr`, the order and a shape, then `data`.
inline Bytes npy(const std::string& descr, const std::string& shape, const Bytes& data, bool column_major = false) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                 column_major ? "True" : "False", shape);
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  Bytes file{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(text.size() & 255), uint8_t(text.size() >> 8)};
  file.insert(file.end(), text.begin(), text.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

/// Expects `action` to throw an `Error` whose message contains `part`; without an error the test fails, and another one
/// escapes.
template <class Error, class Action>
void expect_error(Action&& action, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "no error, expected one with " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

/// A dataset with one column "value" i64[] that holds 1000 * epoch + index.
class Counting : public Dataset {
 public:
  explicit Counting(int64_t rows) : rows_(rows) {}
  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return rows_; }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      out[0].as<int64_t>()[i] = 1000 * epoch + indices[i];
    }
  }

 private:
  int64_t rows_;
  std::vector<Column> columns_ = {{"value", {DType::i64, {}}}};
};

inline DatasetPtr counting(int64_t rows) { return std::make_shared<Counting>(rows); }

/// Returns the elements of an array of any type as doubles, in row-major order.
inline std::vector<double> numbers(const Array& array) {
  std::vector<double> result;
  for (int64_t i = 0; i < array.type().elements(); ++i) result.push_back(array.at(i));
  return result;
}

inline std::vector<int64_t> values(const Array& array) {
  return {array.as<int64_t>(), array.as<int64_t>() + array.type().elements()};
}

/// Returns the first value of the first column, an i64 one, of all rows of one epoch, in order.
inline std::vector<int64_t> epoch_of(const DatasetPtr& dataset, int64_t epoch) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    result.push_back(values(dataset->row(epoch, i)[0])[0]);
  }
  return result;
}

/// Returns the folder `name` of the real data, in $PARTITA_DATA or else in ../shared/data of the source tree, or an
/// empty path if it does not exist.
inline std::filesystem::path real_data(const std::string& name) {
  const char* given = getenv("PARTITA_DATA");
  const auto path = std::filesystem::path(given ? given : std::string(kSourceDir) + "/../shared/data") / name;
  return std::filesystem::is_directory(path) ? path : std::filesystem::path{};
}

}  // namespace partita
