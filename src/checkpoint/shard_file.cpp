#include "checkpoint/shard_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/resources.h"

namespace partita {
namespace {

constexpr const char* kTilesOf = "tiles:";
constexpr size_t kDigits = 16;  // of a checksum
constexpr int64_t kLeastParallelBytes = int64_t{1} << 20;

int64_t size_in_bytes(DType dtype) { return static_cast<int64_t>(size_of(dtype)); }

/// Of what is written of a tensor.
Type piece_type(const ShardPiece& piece) { return {piece.type.dtype, shape_of(piece.box)}; }

/// Adds the bytes of a tile of the dense array of `around`, a box around it. `look` is called with all of them, some at
/// a time, while they are in the cache: short runs are put together.
template <class Look>
void add_tile(Checksum& checksum, const Box& tile, const Box& around, const char* bytes, int64_t size,
              const Look& look) {
  constexpr size_t kMost = size_t{1} << 15, kShort = size_t{1} << 12;
  const auto add = [&](const char* some, size_t count) {
    look(some, count);
    checksum.add(some, count);
  };
  alignas(16) char together[kMost];
  size_t used = 0;
  for_common_runs(tile, around, tile, [&](int64_t first, int64_t, int64_t count) {
    const char* run = bytes + first * size;
    auto left = static_cast<size_t>(count * size);
    if (used > 0 && used + left > kMost) add(together, std::exchange(used, 0));
    while (left > kShort) {
      const size_t some = std::min(left, kMost);
      if (used > 0) add(together, std::exchange(used, 0));
      add(run, some);
      run += some;
      left -= some;
    }
    std::memcpy(together + used, run, left);
    used += left;
  });
  if (used > 0) add(together, used);
}

uint64_t checksum_of_all(const std::vector<uint64_t>& checksums) {
  return checksum_of(checksums.data(), checksums.size() * sizeof checksums[0]);
}

/// A float is not finite when all bits of its exponent are set.
template <class T>
bool all_finite_elements(const char* bytes, int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  Bits infinity{};
  const T largest = static_cast<T>(std::numeric_limits<float>::infinity());
  std::memcpy(&infinity, &largest, sizeof infinity);
  Bits bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes + static_cast<size_t>(i) * sizeof bits, sizeof bits);
    bad |= static_cast<Bits>((bits & infinity) == infinity);
  }
  return bad == 0;
}

/// The checksums of the tiles of a piece. Throws unless its floats are numbers.
std::vector<uint64_t> checked_tiles(const ShardPiece& piece, const void* dense) {
  const Tiles tiles(piece.parts, piece.box);
  std::vector<uint64_t> checksums;
  checksums.reserve(static_cast<size_t>(tiles.count()));
  Checksum checksum;
  const auto with_look = [&](const auto& look) {
    tiles.for_each([&](int64_t, const Box& tile) {
      add_tile(checksum, tile, piece.box, static_cast<const char*>(dense), size_in_bytes(piece.type.dtype), look);
      checksums.push_back(checksum.take());
    });
  };
  if (!is_float(piece.type.dtype)) {
    with_look([](const char*, size_t) {});
    return checksums;
  }
  for_float(piece.type.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_look([&](const char* bytes, size_t count) {
      if (all_finite_elements<T>(bytes, static_cast<int64_t>(count / sizeof(T)))) return;
      throw RuntimeFailure(ExitCode::non_finite,
                           fmt::format("[checkpoint] '{}' is not finite, got NaN or infinity in {}, expected numbers; "
                                       "nothing was saved",
                                       piece.name, print_box(piece.box)));
    });
  });
  return checksums;
}

/// The text of an entry's checksums, or an error that says what is wrong with it.
std::vector<uint64_t> parse_checksums(std::string_view text, int64_t count) {
  if (text.size() != static_cast<size_t>(count) * kDigits) return {};
  std::vector<uint64_t> checksums;
  for (size_t at = 0; at < text.size(); at += kDigits) {
    const auto checksum = parse_checksum(text.substr(at, kDigits));
    if (!checksum) return {};
    checksums.push_back(*checksum);
  }
  return checksums;
}

File open_shard(const std::string& path, int64_t bytes) {
  File file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!file.is_open()) {
    const int reason = errno;
    const std::string text =
        fmt::format("[checkpoint] {}: a file of the checkpoint cannot be opened: {}", path, std::strerror(reason));
    // Too many open files, or too little memory, says nothing of the checkpoint.
    if (reason == EMFILE || reason == ENFILE || reason == ENOMEM) throw MissingFile(text);
    throw InvalidFile(text);
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw InvalidFile(fmt::format("[checkpoint] {}: not a regular file, expected a safetensors file", path));
  }
  if (status.st_size != bytes) {
    throw InvalidFile(
        fmt::format("[checkpoint] {}: wrong size, got {} bytes, expected {}", path, status.st_size, bytes));
  }
  return file;
}

}  // namespace

std::string print_box(const Box& box) {
  if (box.empty()) return "";
  std::string ranges, sizes;
  for (const Range& range : box) {
    ranges += fmt::format("{}{}:{}", ranges.empty() ? "" : ",", range.begin, range.end);
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", range.size);
  }
  return ranges + " of " + sizes;
}

void convert_elements(DType from, const void* source, DType to, void* target, int64_t count) {
  if (from == to) {
    std::memcpy(target, source, static_cast<size_t>(count * size_in_bytes(from)));
    return;
  }
  for_dtype(from, [&](auto given) {
    const auto* values = static_cast<const decltype(given)*>(source);
    for_dtype(to, [&](auto zero) {
      using To = decltype(zero);
      To* results = static_cast<To*>(target);
      for (int64_t i = 0; i < count; ++i) {
        // The 16-bit floats convert from and to float alone.
        if constexpr (std::is_same_v<To, bf16> || std::is_same_v<To, f16>) {
          results[i] = static_cast<float>(values[i]);
        } else if constexpr (std::is_same_v<decltype(given), bf16> || std::is_same_v<decltype(given), f16>) {
          results[i] = static_cast<To>(static_cast<float>(values[i]));
        } else {
          results[i] = static_cast<To>(values[i]);
        }
      }
    });
  });
}

FileLayout file_layout(const std::vector<ShardPiece>& pieces) {
  FileLayout layout{.order = std::vector<size_t>(pieces.size()), .begins = std::vector<int64_t>(pieces.size())};
  // Wide elements first, so that every tensor is aligned to its element.
  std::iota(layout.order.begin(), layout.order.end(), size_t{0});
  std::stable_sort(layout.order.begin(), layout.order.end(),
                   [&](size_t a, size_t b) { return size_of(pieces[a].type.dtype) > size_of(pieces[b].type.dtype); });
  for (const size_t i : layout.order) {
    layout.begins[i] = layout.bytes;
    layout.bytes += piece_type(pieces[i]).bytes();
  }
  return layout;
}

ShardFileWriter::ShardFileWriter(const std::string& path, std::vector<ShardPiece> pieces, const std::byte* data)
    : path_(path), pieces_(std::move(pieces)), layout_(file_layout(pieces_)), data_(data) {
  for (const ShardPiece& piece : pieces_) {
    const bool empty = elements_of(piece.box) == 0;
    checksums_.emplace_back(empty ? 0 : static_cast<size_t>(Tiles(piece.parts, piece.box).count()));
  }
  data_begin_ = 8 + static_cast<int64_t>(header().size());
  file_ = File(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (!file_.is_open()) throw_cannot_write("checkpoint", path_, std::strerror(errno));
  if (data_ != nullptr) direct_.emplace(file_.fd(), data_begin_, data_);
}

/// Ends at a block of the disk, behind its length in 8 bytes.
std::string ShardFileWriter::header() const {
  Metadata metadata;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    std::string digits;
    for (const uint64_t checksum : checksums_[i]) digits += print_checksum(checksum);
    metadata.emplace(kTilesOf + pieces_[i].name, std::move(digits));
    metadata.emplace(kBoxOf + pieces_[i].name, print_box(pieces_[i].box));
  }
  std::vector<TensorPlace> places;
  for (const size_t i : layout_.order) {
    const int64_t begin = layout_.begins[i];
    places.push_back({pieces_[i].name, piece_type(pieces_[i]), begin, begin + bytes_of(i)});
  }
  std::string text = print_safetensors_header(places, metadata);
  constexpr size_t kBlock = DirectOutput::kAlignment;
  text.resize((sizeof(uint64_t) + text.size() + kBlock - 1) / kBlock * kBlock - sizeof(uint64_t), ' ');
  return text;
}

int64_t ShardFileWriter::bytes_of(size_t piece) const { return piece_type(pieces_[piece]).bytes(); }

void ShardFileWriter::write(size_t piece, const void* dense) {
  if (elements_of(pieces_[piece].box) == 0) return;
  if (!direct_) return write_cached(piece, dense);
  PARTITA_CHECK(dense == data_ + layout_.begins[piece], "'{}' does not lie where it will be", pieces_[piece].name);
  checksums_[piece] = checked_tiles(pieces_[piece], dense);
  if (!direct_->write_until(static_cast<size_t>(layout_.begins[piece] + bytes_of(piece)))) {
    throw_cannot_write("checkpoint", path_, std::strerror(errno));
  }
}

void ShardFileWriter::write_cached(size_t piece, const void* dense) {
  const int64_t bytes = bytes_of(piece), begin = data_begin_ + layout_.begins[piece];
  int reason = 0;
  const auto put = [&] {
    if (!write_all_at(file_.fd(), dense, static_cast<size_t>(bytes), begin)) reason = errno;
    // The disk begins at once; finish() waits for it.
    ::sync_file_range(file_.fd(), begin, bytes, SYNC_FILE_RANGE_WRITE);
  };
  {
    // The system copies large pieces while this thread computes their checksums.
    std::jthread writing;
    if (bytes >= kLeastParallelBytes) {
      writing = start_thread("a thread that writes a checkpoint", put);
    } else {
      put();
    }
    checksums_[piece] = checked_tiles(pieces_[piece], dense);
  }
  if (reason != 0) throw_cannot_write("checkpoint", path_, std::strerror(reason));
}

ShardDigest ShardFileWriter::finish() {
  const std::string text = header();
  const uint64_t length = text.size();
  PARTITA_CHECK(8 + static_cast<int64_t>(length) == data_begin_, "the header of {} has changed its length", path_);
  if ((direct_ && !direct_->finish(static_cast<size_t>(layout_.bytes))) ||
      !write_all_at(file_.fd(), &length, sizeof length, 0) ||
      !write_all_at(file_.fd(), text.data(), text.size(), sizeof length) || ::fsync(file_.fd()) != 0 ||
      !file_.close()) {
    throw_cannot_write("checkpoint", path_, std::strerror(errno));
  }
  ShardDigest digest{.bytes = data_begin_ + layout_.bytes, .header = checksum_of_text(text)};
  for (const auto& checksums : checksums_) digest.pieces.push_back(checksum_of_all(checksums));
  return digest;
}

ShardFileReader::ShardFileReader(std::string path, int64_t bytes, const std::string& header,
                                 std::vector<ShardPiece> pieces, int64_t& bytes_read)
    : path_(std::move(path)), file_(open_shard(path_, bytes)), bytes_read_(bytes_read) {
  const auto refuse = [&](const std::string& what) {
    throw InvalidFile(fmt::format("[checkpoint] {}: {}", path_, what));
  };
  uint64_t length = 0;
  if (bytes < 8 || !read_all(file_.fd(), &length, sizeof length, 0)) refuse("too short for a header");
  if (length < 2 || length > static_cast<uint64_t>(std::min(kMaxHeaderBytes, bytes - 8))) {
    refuse(fmt::format("wrong header length at offset 0, got {}", length));
  }
  std::string text(length, '\0');
  if (!read_all(file_.fd(), text.data(), text.size(), sizeof length)) refuse("the header cannot be read");
  bytes_read_ += static_cast<int64_t>(sizeof length + length);
  if (checksum_of_text(text) != header) refuse("the header is damaged, or of another checkpoint");
  const int64_t data_begin = 8 + static_cast<int64_t>(length);
  const SafetensorsHeader parsed = parse_safetensors_header(text, bytes - data_begin, path_);
  std::map<std::string_view, const TensorPlace*> places;
  for (const TensorPlace& place : parsed.places) places.emplace(place.name, &place);
  if (places.size() != pieces.size()) {
    refuse(fmt::format("wrong tensors, got {}, expected {}", places.size(), pieces.size()));
  }
  for (ShardPiece& piece : pieces) {
    const std::string name = piece.name;
    const auto place = places.find(name);
    const Type type = piece_type(piece);
    if (place == places.end() || place->second->type != type) {
      refuse(fmt::format("tensor '{}' is not as the manifest says, expected {}", name, print(type)));
    }
    Entry entry{.begin = data_begin + place->second->begin};
    if (elements_of(piece.box) > 0) {
      const auto digits = parsed.metadata.find(kTilesOf + name);
      const int64_t count = Tiles(piece.parts, piece.box).count();
      if (digits != parsed.metadata.end()) entry.checksums = parse_checksums(digits->second, count);
      if (static_cast<int64_t>(entry.checksums.size()) != count) {
        refuse(fmt::format("tensor '{}' has not the checksums of {} tiles", name, count));
      }
    }
    entry.piece = std::move(piece);
    entries_.emplace(name, std::move(entry));
  }
}

uint64_t ShardFileReader::checksum(const std::string& name) const {
  return checksum_of_all(entries_.at(name).checksums);
}

void ShardFileReader::read(const std::string& name, const Box& part, const Box& target, DType dtype, void* to) const {
  const Entry& entry = entries_.at(name);
  const Box& box = entry.piece.box;
  if (elements_of(part) == 0) return;
  const Tiles tiles(entry.piece.parts, box);
  const DType own = entry.piece.type.dtype;
  const int64_t size = size_in_bytes(own);
  std::vector<std::pair<int64_t, int64_t>> wanted;
  for (size_t d = 0; d < box.size(); ++d) wanted.push_back(tiles.overlapping(d, part[d].begin, part[d].end));
  // One row of tiles along the first dimension after the other, all of a scalar at once.
  const std::pair<int64_t, int64_t> rows = wanted.empty() ? std::pair<int64_t, int64_t>{0, 1} : wanted[0];
  std::vector<char> bytes;
  Checksum checksum;
  for (int64_t row = rows.first; row < rows.second; ++row) {
    if (!wanted.empty()) wanted[0] = {row, row + 1};
    Box slab = box;
    for (size_t d = 0; d < box.size(); ++d) slab[d] = tiles.range(d, wanted[d].first, wanted[d].second);
    bytes.resize(static_cast<size_t>(elements_of(slab) * size));
    for_common_runs(slab, box, slab, [&](int64_t first, int64_t place, int64_t count) {
      const auto run = static_cast<size_t>(count * size);
      if (!read_all(file_.fd(), bytes.data() + place * size, run, entry.begin + first * size)) {
        throw InvalidFile(fmt::format("[checkpoint] {}: tensor '{}' cannot be read", path_, name));
      }
      bytes_read_ += static_cast<int64_t>(run);
    });
    tiles.for_each(wanted, [&](int64_t number, const Box& tile) {
      add_tile(checksum, tile, slab, bytes.data(), size, [](const char*, size_t) {});
      if (checksum.take() == entry.checksums[static_cast<size_t>(number)]) return;
      throw InvalidFile(fmt::format("[checkpoint] {}: tensor '{}' is damaged in {}", path_, name, print_box(tile)));
    });
    const Box here = *common_box(slab, part);
    for_common_runs(here, slab, target, [&](int64_t first, int64_t place, int64_t count) {
      convert_elements(own, bytes.data() + first * size, dtype, static_cast<char*>(to) + place * size_in_bytes(dtype),
                       count);
    });
  }
}

}  // namespace partita
