#include "frontend/data/readers/numpy_files.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "base/free_memory.h"
#include "frontend/data/readers/file_bytes.h"
#include "frontend/data/readers/npy_elements.h"

namespace partita {
namespace {

constexpr int64_t kMaxArrayBytes = int64_t{16} << 30;
constexpr int64_t kMaxHeader = 1 << 16;
constexpr int64_t kReadStep = 1 << 20;  // bytes converted at a time

/// Reads a file from front to back. `read` returns fewer bytes than requested only at its end.
class Source {
 public:
  using Read = std::function<size_t(std::span<uint8_t>)>;
  /// `max_bytes`: upper bound of the bytes the file can give.
  Source(Read read, int64_t max_bytes) : read_(std::move(read)), left_(max_bytes) {}

  size_t read(std::span<uint8_t> out) {
    size_t done = 0;
    while (done < out.size()) {
      const size_t got = read_(out.subspan(done));
      if (got == 0) break;
      done += got;
    }
    left_ -= static_cast<int64_t>(done);
    return done;
  }
  /// Upper bound of the bytes that are not read yet, at least 0.
  int64_t left() const { return std::max<int64_t>(0, left_); }

 private:
  Read read_;
  int64_t left_;
};

[[noreturn]] void refuse_array(const std::string& where, std::string_view what, const std::string& got,
                               std::string_view expected) {
  throw InvalidFile("[npy] {} in '{}', got {}, expected {}", what, where, got, expected);
}

[[noreturn]] void refuse_cut(const std::string& where, int64_t got, int64_t expected) {
  refuse_array(where, "cut file", fmt::format("{} bytes", got), fmt::format("{}", expected));
}

/// Returns the next `count` bytes, those of a header. Throws InvalidFile, naming `where`, if the file ends before, and
/// what reading it throws.
std::vector<uint8_t> exactly(Source& source, int64_t count, const std::string& where) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  const size_t got = source.read(bytes);
  if (got < bytes.size()) refuse_cut(where, static_cast<int64_t>(got), count);
  return bytes;
}

/// Returns the text after `'key'` in the header, without leading colons and spaces. Throws InvalidFile, naming `where`,
/// if there is no such key.
std::string_view value_of(std::string_view text, std::string_view key, const std::string& where) {
  const std::string quoted = fmt::format("'{}'", key);
  const size_t at = text.find(quoted);
  if (at == std::string_view::npos)
    refuse_array(where, "bad header", fmt::format("no '{}'", key), "descr, fortran_order, shape");
  std::string_view rest = text.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

Shape parse_tuple(std::string_view text, const std::string& where) {
  Shape shape;
  const size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos) {
    refuse_array(where, "bad header", "no tuple", "a shape as (3, 4)");
  }
  std::optional<int64_t> number;
  bool ended = false;  // a space ended the number
  for (const char c : text.substr(1, close - 1)) {
    if (c >= '0' && c <= '9' && !ended) {
      number = number.value_or(0) * 10 + (c - '0');
      if (*number > kMaxArrayBytes) refuse_array(where, "too large", "a dimension above 16 GiB", "a smaller one");
    } else if (c == ',' && number) {
      shape.push_back(*std::exchange(number, {}));
      ended = false;
    } else if (c == ' ') {
      ended = number.has_value();
    } else {
      refuse_array(where, "bad header", fmt::format("'{}' in the shape", c), "numbers and commas");
    }
  }
  if (number) shape.push_back(*number);
  if (shape.size() > size_t{kMaxDims}) {
    refuse_array(where, "too many dimensions", fmt::format("{}", shape.size()), fmt::format("at most {}", kMaxDims));
  }
  return shape;
}

NpyLayout parse_header(std::string_view text, const std::string& where) {
  NpyLayout header;
  std::string_view descr = value_of(text, "descr", where);
  const size_t end = descr.empty() || descr[0] != '\'' ? std::string_view::npos : descr.find('\'', 1);
  if (end == std::string_view::npos) refuse_array(where, "bad element type", "records", "a number or a bool");
  header.descr = descr.substr(1, end - 1);
  header.column_major = value_of(text, "fortran_order", where).starts_with("True");
  header.shape = parse_tuple(value_of(text, "shape", where), where);
  return header;
}

NpyLayout read_header(Source& source, const std::string& where) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::vector<uint8_t> start = exactly(source, 8, where);
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(), [](char a, uint8_t b) { return uint8_t(a) == b; })) {
    refuse_array(where, "wrong magic", fmt::format("{:02x} {:02x} {:02x}", start[0], start[1], start[2]),
                 "93 4e 55 ..");
  }
  if (start[6] < 1 || start[6] > 3) refuse_array(where, "unknown version", fmt::format("{}", start[6]), "1, 2 or 3");
  const std::vector<uint8_t> length = exactly(source, start[6] == 1 ? 2 : 4, where);
  int64_t bytes = 0;
  for (size_t i = 0; i < length.size(); ++i) bytes |= int64_t{length[i]} << (8 * i);
  if (bytes > kMaxHeader) {
    refuse_array(where, "header too long", fmt::format("{}", bytes), fmt::format("at most {}", kMaxHeader));
  }
  const std::vector<uint8_t> text = exactly(source, bytes, where);
  NpyLayout layout = parse_header({reinterpret_cast<const char*>(text.data()), text.size()}, where);
  layout.first_byte = static_cast<int64_t>(start.size() + length.size()) + bytes;
  return layout;
}

/// Destinations of elements that arrive in file order.
class RowMajorIndices {
 public:
  RowMajorIndices(const Shape& shape, bool column_major)
      : shape_(shape), at_(shape.size(), 0), strides_(strides_of(shape)) {
    is_in_order_ = !column_major || shape.size() < 2;
  }
  bool is_in_order() const { return is_in_order_; }
  /// Returns the row-major index of the next element in file order, and moves on to the one after it.
  int64_t next() {
    const int64_t place = place_;
    if (is_in_order_) return ++place_, place;
    for (size_t d = 0; d < shape_.size(); ++d) {
      place_ += strides_[d];
      if (++at_[d] < shape_[d]) break;
      place_ -= shape_[d] * strides_[d];
      at_[d] = 0;
    }
    return place;
  }

 private:
  const Shape& shape_;
  Shape at_, strides_;
  int64_t place_ = 0;
  bool is_in_order_ = true;
};

/// Checks that the file can still give `bytes`, which its header declares, and that the free memory can hold an array
/// of `type`, if its size is known. Throws InvalidFile or RuntimeFailure(out_of_memory), naming `where`, otherwise.
void require_room(const Type& type, int64_t bytes, const Source& source, const std::string& where) {
  if (bytes > source.left())
    refuse_array(where, "cut file", fmt::format("at most {} bytes", source.left()), fmt::format("{}", bytes));
  const std::optional<int64_t> available = available_memory();
  if (!available || type.bytes() <= *available) return;
  throw RuntimeFailure(ExitCode::out_of_memory,
                       "[npy] '{}' does not fit into memory, got {} of {}, expected at most the {} that are free",
                       where, print(type), print_bytes(type.bytes()), print_bytes(*available));
}

/// Reads the elements of `array` from the source in parts, in file order, and puts each at its place in row-major
/// order. Throws InvalidFile if the file ends before, and what reading it throws.
void read_elements(Source& source, const NpyElement& element, RowMajorIndices indices, const std::string& where,
                   Array& array) {
  const auto size = static_cast<int64_t>(element.bytes), count = array.type().elements();
  std::vector<uint8_t> part(static_cast<size_t>(std::min(count, kReadStep / size) * size));
  std::vector<int32_t> wide(element.widen ? part.size() / element.bytes : 0);
  auto* to = static_cast<uint8_t*>(array.data());
  const size_t bytes = size_of(element.dtype);
  for (int64_t done = 0; done < count;) {
    const int64_t now = std::min(count - done, kReadStep / size);
    const size_t got = source.read(std::span(part).first(static_cast<size_t>(now * size)));
    if (got < static_cast<size_t>(now * size)) {
      refuse_cut(where, done * size + static_cast<int64_t>(got), count * size);
    }
    const uint8_t* from = part.data();
    if (element.widen) {
      element.widen(part.data(), now, wide.data());
      from = reinterpret_cast<const uint8_t*>(wide.data());
    }
    for (int64_t i = 0; i < now; ++i)
      std::memcpy(to + static_cast<size_t>(indices.next()) * bytes, from + i * bytes, bytes);
    done += now;
  }
}

Array read_array(Source& source, const std::string& where) {
  const NpyLayout header = read_header(source, where);
  const NpyElement& element = npy_element(header.descr, where);
  const Type type{element.dtype, header.shape};
  const auto wide = static_cast<int64_t>(std::max(element.bytes, size_of(element.dtype)));
  int64_t left = kMaxArrayBytes / wide;  // elements; a zero must not hide other large dimensions: rows would have them
  for (int64_t size : header.shape) {
    if (size > left) refuse_array(where, "too large", print(type), "at most 16 GiB");
    left /= std::max<int64_t>(1, size);
  }
  const int64_t count = elements(header.shape), bytes = count * static_cast<int64_t>(element.bytes);
  require_room(type, bytes, source, where);
  Array array(type);
  const RowMajorIndices indices(type.shape, header.column_major);
  if (indices.is_in_order() && !element.widen) {
    const size_t got = source.read({static_cast<uint8_t*>(array.data()), static_cast<size_t>(bytes)});
    if (static_cast<int64_t>(got) < bytes) refuse_cut(where, static_cast<int64_t>(got), bytes);
  } else {
    read_elements(source, element, indices, where, array);
  }
  if (element.dtype == DType::boolean) normalize_bools(array.data(), count);
  uint8_t more = 0;
  if (source.read({&more, 1}) > 0)
    refuse_array(where, "file too long", "more bytes", fmt::format("{} elements", count));
  return array;
}

[[noreturn]] void refuse_member(const std::string& where, zip_error_t* error) {
  if (zip_error_code_zip(error) == ZIP_ER_MEMORY) throw std::bad_alloc();
  throw InvalidFile("[npz] member not readable in '{}', got '{}', expected an array", where, zip_error_strerror(error));
}

class Npz {
 public:
  explicit Npz(const std::filesystem::path& file) : file_(file.string()) {
    const PackedFile readable(file);  // throws with what is wrong with the file
    int code = 0;
    archive_.reset(zip_open(file.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
    if (!archive_) refuse_archive(code);
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive_.get(), 0); ++i) {
      const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
      if (name == nullptr) refuse_member(file_, zip_get_error(archive_.get()));
      members_.emplace_back(name);
    }
  }

  /// Returns the names of the arrays, without ".npy", in file order.
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
    const auto read = [&](std::span<uint8_t> out) {
      const zip_int64_t got = zip_fread(member.get(), out.data(), out.size());
      if (got < 0) {
        if (zip_error_code_zip(zip_file_get_error(member.get())) == ZIP_ER_MEMORY) throw std::bad_alloc();
        throw InvalidFile("[npz] corrupt member '{}', got '{}', expected packed bytes", where,
                          zip_file_strerror(member.get()));
      }
      return static_cast<size_t>(got);
    };
    Source source(read, max_bytes(i));
    return read_array(source, where);
  }

 private:
  struct Closer {
    void operator()(zip_t* archive) const { zip_discard(archive); }
    void operator()(zip_file_t* member) const { zip_fclose(member); }
  };

  /// Returns an upper bound of the bytes that the member at position i can give, from its sizes in the file; the
  /// largest int64_t if they are unknown.
  int64_t max_bytes(size_t i) const {
    constexpr uint64_t kMaxBytes = std::numeric_limits<int64_t>::max();
    zip_stat_t stat;
    if (zip_stat_index(archive_.get(), i, 0, &stat) != 0) return kMaxBytes;
    uint64_t most = kMaxBytes;
    if ((stat.valid & ZIP_STAT_SIZE) != 0) most = std::min<uint64_t>(most, stat.size);
    const bool is_deflate = (stat.valid & ZIP_STAT_COMP_METHOD) != 0 && stat.comp_method == ZIP_CM_DEFLATE;
    if (is_deflate && (stat.valid & ZIP_STAT_COMP_SIZE) != 0 && stat.comp_size < kMaxBytes / kMaxDeflateRatio) {
      most = std::min<uint64_t>(most, stat.comp_size * kMaxDeflateRatio);
    }
    return static_cast<int64_t>(most);
  }

  [[noreturn]] void refuse_archive(int code) const {
    if (code == ZIP_ER_MEMORY) throw std::bad_alloc();
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw InvalidFile("[npz] not a zip file: '{}', got '{}', expected a .npz", file_, reason);
  }

  std::string file_;
  std::unique_ptr<zip_t, Closer> archive_;
  std::vector<std::string> members_;
};

/// Returns the arrays whose names, without ".npy", `takes` accepts, in file order. Throws MissingFile, InvalidFile or
/// RuntimeFailure(out_of_memory) as `read_npz` does.
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

NpyLayout read_npy_layout(const std::filesystem::path& file) {
  PackedFile plain(file);
  Source source([&](std::span<uint8_t> out) { return plain.read(out); }, plain.max_bytes());
  return read_header(source, file.string());
}

Array read_npy(const std::filesystem::path& file) {
  PackedFile packed(file);
  Source source([&](std::span<uint8_t> out) { return packed.read(out); }, packed.max_bytes());
  return read_array(source, file.string());
}

std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file) {
  return read_arrays(file, [](const std::string&) { return true; });
}

std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file,
                                                    const std::vector<std::string>& names) {
  return read_arrays(file, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
}

std::vector<std::string> npz_names(const std::filesystem::path& file) { return Npz(file).names(); }

}  // namespace partita
