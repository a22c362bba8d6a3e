// Files of rows: MNIST, CIFAR-10, NumPy's, texts; plain and packed.

#include <lzma.h>
#include <zip.h>
#include <zlib.h>

#include <cstring>

#include "frontend/data/readers/array_rows.h"
#include "frontend/data/readers/cifar10.h"
#include "frontend/data/readers/mnist.h"
#include "frontend/data/readers/numpy_files.h"
#include "frontend/data/readers/token_rows.h"
#include "fuzz/files.h"
#include "fuzz/target.h"

namespace partita {
namespace {

std::string gzip(std::string bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string xz(const std::string& bytes) {
  std::string packed(lzma_stream_buffer_bound(bytes.size()), '\0');
  size_t size = 0;
  lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                          reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size());
  packed.resize(size);
  return packed;
}

/// The first and the last row, and that it has as many as it says.
void read_ends(const Dataset& rows) {
  require(rows.size() >= 0, "a negative number of rows");
  if (rows.size() == 0) return;
  rows.row(0, 0);
  rows.row(0, rows.size() - 1);
}

std::string big_endian(std::initializer_list<uint32_t> numbers) {
  std::string bytes;
  for (const uint32_t number : numbers) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  }
  return bytes;
}

std::string some_labels() { return big_endian({0x801, 2}) + std::string("\x03\x07", 2); }
std::string some_images() { return big_endian({0x803, 2, 28, 28}) + std::string(2 * 28 * 28, '\x11'); }

/// Labels and images; the first byte says how they are packed.
void read_mnist_files(const std::string& input) {
  if (input.empty()) return;
  const std::string suffix = input[0] == 'g' ? ".gz" : input[0] == 'x' ? ".xz" : "";
  const std::vector<std::string> parts = split_parts(std::string_view(input).substr(1), 2);
  input_folder().remove("mnist");
  input_folder().write("mnist/train-labels-idx1-ubyte" + suffix, parts[0]);
  input_folder().write("mnist/train-images-idx3-ubyte" + suffix, parts[1]);
  read_ends(*read_mnist(input_folder().path() / "mnist", Split::train));
}

void read_cifar10_files(const std::string& input) {
  if (input.empty()) return;
  const std::string suffix = input[0] == 'g' ? ".gz" : input[0] == 'x' ? ".xz" : "";
  input_folder().remove("cifar10");
  input_folder().write("cifar10/test_batch.bin" + suffix, std::string_view(input).substr(1));
  read_ends(*read_cifar10(input_folder().path() / "cifar10", Split::test));
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, char version = 1) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", descr,
                                 version == 2 ? "True" : "False", shape);
  std::string head = "\x93NUMPY" + std::string(1, version) + std::string(1, '\0');
  head += static_cast<char>(text.size());
  head += std::string(version == 1 ? 1 : 3, '\0');
  return head + text + data;
}

void read_npy_file(const std::string& input) {
  const Array array = read_npy(input_folder().write("input.npy", input));
  // Small integers grow to four bytes.
  require(array.type().bytes() <= 4 * static_cast<int64_t>(input.size()), "more elements than the file has");
  if (array.type().elements() > 0) array.at(array.type().elements() - 1);
}

/// A zip file with these members.
std::string zipped(const std::vector<std::pair<std::string, std::string>>& members, bool packs) {
  const std::string path = (input_folder().path() / "seed.npz").string();
  input_folder().remove("seed.npz");
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  PARTITA_CHECK(archive != nullptr, "no zip file {}", path);
  for (const auto& [name, bytes] : members) {
    const auto index =
        zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), packs ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 9);
  }
  PARTITA_CHECK(zip_close(archive) == 0, "cannot write {}", path);
  return bytes_of_file(path);
}

std::vector<std::string> some_npz() {
  const std::string images = npy("|u1", "(2, 2, 3)", "abcdefghijkl"), labels = npy("<i4", "(2,)", std::string(8, '\0'));
  return {zipped({{"x_train.npy", images}, {"y_train.npy", labels}}, true),
          zipped({{"image.npy", images}, {"labels.npy", labels}, {"weight.npy", npy("<f4", "(2,)", std::string(8, 1))}},
                 false)};
}

void read_npz_file(const std::string& input) {
  const std::filesystem::path path = input_folder().write("input.npz", input);
  for (const std::string& name : npz_names(path)) require(name.size() <= input.size(), "a name from nowhere");
  const DataSource source{DataKind::npz, {path.string()}};
  if (!has_array_rows(source, Split::train)) return;
  read_ends(*read_array_rows(source, Split::train, "image", LabelRange{.classes = 10, .ignored = -1}));
}

void read_npy_files(const std::string& input) {
  const std::vector<std::string> parts = split_parts(input, 2);
  const DataSource source{
      DataKind::npy,
      {input_folder().write("rows.npy", parts[0]).string(), input_folder().write("labels.npy", parts[1]).string()}};
  read_ends(*read_array_rows(source, Split::train, "image", LabelRange{.classes = 10}));
}

void read_text_file(const std::string& input) {
  if (input.size() < 3) return;
  const auto task = static_cast<TextTask>(static_cast<uint8_t>(input[0]) % 3);
  const int64_t tokens = 1 + static_cast<uint8_t>(input[1]) % 16, targets = 1 + static_cast<uint8_t>(input[2]) % tokens;
  const char kind = input.size() > 3 ? input[3] : ' ';
  const std::string name = std::string("input.txt") + (kind == '\x1f' ? ".gz" : kind == '\xfd' ? ".xz" : "");
  const std::filesystem::path path = input_folder().write(name, std::string_view(input).substr(3));
  for (const Split split : {Split::train, Split::test}) {
    read_ends(*read_text(path, split, {.tokens = tokens, .task = task, .targets = targets}));
  }
}

}  // namespace

std::vector<FuzzTarget> rows_targets() {
  const std::vector<std::string> words{"'descr': '<f8'", "'<i2'",  "'|b1'",      "'fortran_order': True",
                                       "'shape': (0,)",  "(2, 3)", "PK\x03\x04", "PK\x01\x02",
                                       "PK\x05\x06"};
  const std::string text = "to be or not to be, that is the question; whether it is nobler in the mind to suffer";
  return {{.name = "mnist",
           .seeds =
               [] {
                 return std::vector{"p" + joined({some_labels(), some_images()}),
                                    "g" + joined({gzip(some_labels()), gzip(some_images())}),
                                    "x" + joined({xz(some_labels()), xz(some_images())})};
               },
           .read = read_mnist_files},
          {.name = "cifar10",
           .seeds =
               [] {
                 const std::string record = "\x04" + std::string(3072, 'x');
                 return std::vector{"p" + record, "g" + gzip(record + record), "x" + xz(record)};
               },
           .read = read_cifar10_files},
          {.name = "npy",
           .seeds =
               [] {
                 return std::vector{npy("<f4", "(2, 3)", std::string(24, '\x3f')), npy("<i2", "(3,)", "abcdef"),
                                    npy("|b1", "(2, 2)", "abcd", 2), npy("<f2", "()", "ab", 3)};
               },
           .read = read_npy_file,
           .words = words},
          {.name = "npz", .seeds = some_npz, .read = read_npz_file, .words = words},
          {.name = "npy_rows",
           .seeds =
               [] {
                 return std::vector{
                     joined({npy("|u1", "(2, 2, 3)", "abcdefghijkl"), npy("<i8", "(2,)", std::string(16, '\0'))})};
               },
           .read = read_npy_files,
           .words = words},
          {.name = "text",
           .seeds =
               [=] {
                 return std::vector<std::string>{std::string("\0\3\1", 3) + text, "\1\7\3" + gzip(text + text + text),
                                                 "\2\3\2" + xz(text + text)};
               },
           .read = read_text_file}};
}

}  // namespace partita
