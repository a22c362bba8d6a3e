#include "data/readers/numpy_files.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr int64_t kMostArrayBytes = int64_t{16} << 30;
constexpr int64_t kMostHeader = 1 << 16;
constexpr int64_t kReadStep = 1 << 20;  // memory grows by what has really been read

/// Gives the next bytes of a file, fewer than asked for only at its end.
using Source = std::function<std::vector<uint8_t>(int64_t)>;

[[noreturn]] void refuse(const std::string& where, std::string_view what, const std::string& got,
                         std::string_view expected) {
  throw InvalidFile(fmt::format("[npy] {} in '{}', got {}, expected {}", what, where, got, expected));
}

std::vector<uint8_t> exactly(const Source& source, int64_t count, const std::string& where) {
  std::vector<uint8_t> bytes;
  while (static_cast<int64_t>(bytes.size()) < count) {
    const std::vector<uint8_t> more = source(std::min(kReadStep, count - static_cast<int64_t>(bytes.size())));
    if (more.empty()) {
      refuse(where, "cut file", fmt::format("{} bytes", bytes.size()), fmt::format("{}", count));
    }
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

/// What the header says: a Python dictionary in a fixed form.
struct Header {
  std::string descr;
  bool column_major = false;
  Shape shape;
};

/// The text after `'key':`, without spaces in front.
std::string_view value_of(std::string_view text, std::string_view key, const std::string& where) {
  const std::string quoted = fmt::format("'{}'", key);
  const size_t at = text.find(quoted);
  if (at == std::string_view::npos)
    refuse(where, "bad header", fmt::format("no '{}'", key), "descr, fortran_order, shape");
  std::string_view rest = text.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

Shape parse_tuple(std::string_view text, const std::string& where) {
  Shape shape;
  const size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos) {
    refuse(where, "bad header", "no tuple", "a shape as (3, 4)");
  }
  std::optional<int64_t> number;
  bool ended = false;  // by a space
  for (const char c : text.substr(1, close - 1)) {
    if (c >= '0' && c <= '9' && !ended) {
      number = number.value_or(0) * 10 + (c - '0');
      if (*number > kMostArrayBytes) refuse(where, "too large", "a dimension above 16 GiB", "a smaller one");
    } else if (c == ',' && number) {
      shape.push_back(*std::exchange(number, {}));
      ended = false;
    } else if (c == ' ') {
      ended = number.has_value();
    } else {
      refuse(where, "bad header", fmt::format("'{}' in the shape", c), "numbers and commas");
    }
  }
  if (number) shape.push_back(*number);
  if (shape.size() > size_t{kMostDims}) {
    refuse(where, "too many dimensions", fmt::format("{}", shape.size()), fmt::format("at most {}", kMostDims));
  }
  return shape;
}

Header parse_header(std::string_view text, const std::string& where) {
  Header header;
  std::string_view descr = value_of(text, "descr", where);
  const size_t end = descr.empty() || descr[0] != '\'' ? std::string_view::npos : descr.find('\'', 1);
  if (end == std::string_view::npos) refuse(where, "bad element type", "records", "a number or a bool");
  header.descr = descr.substr(1, end - 1);
  header.column_major = value_of(text, "fortran_order", where).starts_with("True");
  header.shape = parse_tuple(value_of(text, "shape", where), where);
  return header;
}

Header read_header(const Source& source, const std::string& where) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::vector<uint8_t> start = exactly(source, 8, where);
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(), [](char a, uint8_t b) { return uint8_t(a) == b; })) {
    refuse(where, "wrong magic", fmt::format("{:02x} {:02x} {:02x}", start[0], start[1], start[2]), "93 4e 55 ..");
  }
  if (start[6] < 1 || start[6] > 3) refuse(where, "unknown version", fmt::format("{}", start[6]), "1, 2 or 3");
  const std::vector<uint8_t> length = exactly(source, start[6] == 1 ? 2 : 4, where);
  int64_t bytes = 0;
  for (size_t i = 0; i < length.size(); ++i) bytes |= int64_t{length[i]} << (8 * i);
  if (bytes > kMostHeader) {
    refuse(where, "header too long", fmt::format("{}", bytes), fmt::format("at most {}", kMostHeader));
  }
  const std::vector<uint8_t> text = exactly(source, bytes, where);
  return parse_header({reinterpret_cast<const char*>(text.data()), text.size()}, where);
}

/// How elements lie in the file and which type they get.
struct Element {
  std::string_view descr;
  size_t bytes;
  DType dtype;
  void (*widen)(const uint8_t* from, int64_t count, int32_t* to);  // null: as they are
};

template <class T>
void widen(const uint8_t* from, int64_t count, int32_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    to[i] = value;
  }
}

constexpr Element kElements[] = {{"<f8", 8, DType::f64, nullptr},        {"<f4", 4, DType::f32, nullptr},
                                 {"<f2", 2, DType::f16, nullptr},        {"<i8", 8, DType::i64, nullptr},
                                 {"<i4", 4, DType::i32, nullptr},        {"<u4", 4, DType::u32, nullptr},
                                 {"|u1", 1, DType::u8, nullptr},         {"|b1", 1, DType::boolean, nullptr},
                                 {"|i1", 1, DType::i32, widen<int8_t>},  {"<i2", 2, DType::i32, widen<int16_t>},
                                 {"<u2", 2, DType::i32, widen<uint16_t>}};

const Element& element_of(const std::string& descr, const std::string& where) {
  std::vector<std::string_view> known;
  for (const Element& element : kElements) {
    if (element.descr == descr) return element;
    known.push_back(element.descr);
  }
  refuse(where, "element type not supported", descr, fmt::format("one of {}", fmt::join(known, ", ")));
}

/// The same array in row-major order; `array` has its elements in column-major order.
Array to_row_major(const Array& array) {
  const Shape& shape = array.shape();
  Array result(array.type());
  const size_t bytes = size_of(array.type().dtype);
  const auto* from = static_cast<const std::byte*>(array.data());
  auto* to = static_cast<std::byte*>(result.data());
  Shape at(shape.size(), 0);
  for (int64_t i = 0; i < array.type().elements(); ++i) {
    int64_t place = 0;
    for (size_t d = shape.size(); d-- > 0;) place = place * shape[d] + at[d];
    std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(place) * bytes, bytes);
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return result;
}

Array read_array(const Source& source, const std::string& where) {
  const Header header = read_header(source, where);
  const Element& element = element_of(header.descr, where);
  const auto wide = static_cast<int64_t>(std::max(element.bytes, size_of(element.dtype)));
  int64_t left = kMostArrayBytes / wide;  // elements; zeros do not hide other dimensions, which rows would be made of
  for (int64_t size : header.shape) {
    if (size > left) refuse(where, "too large", print(Type{element.dtype, header.shape}), "at most 16 GiB");
    left /= std::max<int64_t>(1, size);
  }
  const int64_t count = elements(header.shape);
  const std::vector<uint8_t> bytes = exactly(source, count * static_cast<int64_t>(element.bytes), where);
  if (!source(1).empty()) refuse(where, "file too long", "more bytes", fmt::format("{} elements", count));
  Array array(Type{element.dtype, header.shape});
  if (element.widen)
    element.widen(bytes.data(), count, array.as<int32_t>());
  else if (element.dtype == DType::boolean)
    std::transform(bytes.begin(), bytes.end(), static_cast<uint8_t*>(array.data()), [](uint8_t b) { return b != 0; });
  else if (!bytes.empty())
    std::memcpy(array.data(), bytes.data(), bytes.size());
  return header.column_major && header.shape.size() > 1 ? to_row_major(array) : array;
}

[[noreturn]] void refuse_member(const std::string& where, zip_error_t* error) {
  if (zip_error_code_zip(error) == ZIP_ER_MEMORY) throw std::bad_alloc();
  throw InvalidFile(
      fmt::format("[npz] member not readable in '{}', got '{}', expected an array", where, zip_error_strerror(error)));
}

class Npz {
 public:
  explicit Npz(const std::filesystem::path& file) : file_(file.string()) {
    const PackedFile readable(file);  // says what is wrong with it
    int code = 0;
    archive_.reset(zip_open(file.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
    if (!archive_) refuse_archive(code);
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive_.get(), 0); ++i) {
      const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
      if (name == nullptr) refuse_member(file_, zip_get_error(archive_.get()));
      members_.emplace_back(name);
    }
  }

  /// Of the arrays, in the order of the file.
  std::vector<std::string> names() const {
    std::vector<std::string> names = members_;
    for (std::string& name : names) {
      if (name.ends_with(".npy")) name.resize(name.size() - 4);
    }
    return names;
  }

  Array read(size_t i) const {
    const std::string where = fmt::format("{}/{}", file_, members_[i]);
    const std::unique_ptr<zip_file_t, Closer> member(zip_fopen_index(archive_.get(), i, 0));
    if (!member) refuse_member(where, zip_get_error(archive_.get()));
    const Source source = [&](int64_t limit) {
      std::vector<uint8_t> bytes(static_cast<size_t>(limit));
      const zip_int64_t got = zip_fread(member.get(), bytes.data(), bytes.size());
      if (got < 0) {
        if (zip_error_code_zip(zip_file_get_error(member.get())) == ZIP_ER_MEMORY) throw std::bad_alloc();
        throw InvalidFile(fmt::format("[npz] corrupt member '{}', got '{}', expected packed bytes", where,
                                      zip_file_strerror(member.get())));
      }
      bytes.resize(static_cast<size_t>(got));
      return bytes;
    };
    return read_array(source, where);
  }

 private:
  struct Closer {
    void operator()(zip_t* archive) const { zip_discard(archive); }
    void operator()(zip_file_t* member) const { zip_fclose(member); }
  };

  [[noreturn]] void refuse_archive(int code) const {
    if (code == ZIP_ER_MEMORY) throw std::bad_alloc();
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw InvalidFile(fmt::format("[npz] not a zip file: '{}', got '{}', expected a .npz", file_, reason));
  }

  std::string file_;
  std::unique_ptr<zip_t, Closer> archive_;
  std::vector<std::string> members_;
};

/// The arrays whose name `takes` says.
std::vector<std::pair<std::string, Array>> read_arrays(const std::filesystem::path& file,
                                                       const std::function<bool(const std::string&)>& takes) {
  const Npz npz(file);
  std::vector<std::string> names = npz.names();
  std::vector<std::pair<std::string, Array>> arrays;
  for (size_t i = 0; i < names.size(); ++i) {
    if (takes(names[i])) arrays.emplace_back(std::move(names[i]), npz.read(i));
  }
  return arrays;
}

}  // namespace

Array read_npy(const std::filesystem::path& file) {
  PackedFile packed(file);
  return read_array([&](int64_t limit) { return packed.read(limit); }, file.string());
}

std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file) {
  return read_arrays(file, [](const std::string&) { return true; });
}

std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file,
                                                    const std::vector<std::string>& names) {
  return read_arrays(
      file, [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); });
}

std::vector<std::string> npz_names(const std::filesystem::path& file) { return Npz(file).names(); }

}  // namespace partita
