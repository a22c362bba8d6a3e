#include "runtime/checkpoint/shard_format.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/finite.h"
#include "base/past_cache.h"
#include "runtime/checkpoint/json_text.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {
namespace {

/// Copies a run of a tile, two registers at a time. For runs below a KiB this is faster than the library's memcpy,
/// which compilers call for a loop over one register.
void copy_run(char* to, const char* from, size_t bytes) {
  using Register = char __attribute__((vector_size(32)));
  constexpr size_t kOne = sizeof(Register), kTwo = 2 * kOne;
  if (bytes < kOne) {
    std::memcpy(to, from, bytes);
    return;
  }
  Register first, second;
  size_t at = 0;
  for (; at + kTwo <= bytes; at += kTwo) {
    std::memcpy(&first, from + at, kOne);
    std::memcpy(&second, from + at + kOne, kOne);
    std::memcpy(to + at, &first, kOne);
    std::memcpy(to + at + kOne, &second, kOne);
  }
  if (at + kOne < bytes) {
    std::memcpy(&first, from + at, kOne);
    std::memcpy(to + at, &first, kOne);
  }
  std::memcpy(&second, from + bytes - kOne, kOne);  // may copy some bytes twice
  std::memcpy(to + bytes - kOne, &second, kOne);
}

/// The box of rows [first, last) of tiles of a piece, along its first dimension; a scalar has one row.
Box box_of_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last) {
  Box box = piece.box;
  if (!box.empty()) box[0] = tiles.range(0, first, last);
  return box;
}

}  // namespace

Type piece_type(const ShardPiece& piece) { return {piece.type.dtype, shape_of(piece.box)}; }

FileLayout file_layout(const std::vector<ShardPiece>& pieces) {
  FileLayout layout{.order = std::vector<size_t>(pieces.size()), .begins = std::vector<int64_t>(pieces.size())};
  // Tensors whose byte count is divisible by a larger power of two come first. So each is aligned to its element, and
  // to a cache line if it consists of whole lines.
  const auto alignment = [&](size_t i) {
    const uint64_t bytes = kCacheLine | static_cast<uint64_t>(piece_type(pieces[i]).bytes());
    return bytes & -bytes;
  };
  std::iota(layout.order.begin(), layout.order.end(), size_t{0});
  std::ranges::stable_sort(layout.order, [&](size_t a, size_t b) { return alignment(a) > alignment(b); });
  for (const size_t i : layout.order) {
    layout.begins[i] = layout.bytes;
    layout.bytes += piece_type(pieces[i]).bytes();
  }
  return layout;
}

TileChecksums no_checksums(const std::vector<ShardPiece>& pieces) {
  TileChecksums checksums;
  for (const ShardPiece& piece : pieces) {
    const bool empty = elements_of(piece.box) == 0;
    checksums.emplace_back(empty ? 0 : static_cast<size_t>(Tiles(piece.parts, piece.box).count()));
  }
  return checksums;
}

uint64_t checksum_of_all(const std::vector<uint64_t>& checksums) {
  return checksum_of(checksums.data(), checksums.size() * sizeof checksums[0]);
}

uint64_t tile_checksum(Checksum& checksum, const Box& tile, const Box& around, const void* dense, DType dtype) {
  // Gathers short runs, since XXH3 is slow for many short inputs.
  constexpr size_t kMaxBytes = size_t{1} << 14;
  alignas(64) char together[kMaxBytes];
  const char* bytes = static_cast<const char*>(dense);
  const auto size = static_cast<int64_t>(size_of(dtype));
  const auto all = static_cast<size_t>(elements_of(tile) * size);
  const char* only_run = nullptr;
  size_t used = 0;
  for_common_runs(tile, around, tile, [&](int64_t first, int64_t, int64_t count) {
    const char* run = bytes + first * size;
    const auto length = static_cast<size_t>(count * size);
    if (length == all) {
      only_run = run;
      return;
    }
    if (used + length > kMaxBytes && used > 0) checksum.add(together, std::exchange(used, 0));
    if (length > kMaxBytes) return checksum.add(run, length);
    copy_run(together + used, run, length);
    used += length;
  });
  if (only_run != nullptr) return checksum_of(only_run, all);
  if (used == all) return checksum_of(together, used);
  checksum.add(together, used);
  return checksum.take();
}

void throw_not_finite(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last) {
  throw RuntimeFailure(ExitCode::non_finite,
                       "[checkpoint] '{}' is not finite, got NaN or infinity{}, expected numbers; nothing was saved",
                       piece.name, print_in_box(box_of_rows(piece, tiles, first, last)));
}

void checksum_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                   std::vector<uint64_t>& checksums) {
  std::vector<std::pair<int64_t, int64_t>> row;
  for (size_t d = 0; d < piece.box.size(); ++d) row.emplace_back(0, tiles.along(d));
  Checksum checksum;
  const auto* bytes = static_cast<const std::byte*>(dense);
  for (int64_t i = first; i < last; ++i) {
    if (!row.empty()) row[0] = {i, i + 1};
    const Box slab = box_of_rows(piece, tiles, i, i + 1);
    tiles.for_each(row, [&](int64_t number, const Box& tile) {
      checksums[static_cast<size_t>(number)] = tile_checksum(checksum, tile, slab, bytes, piece.type.dtype);
    });
    bytes += elements_of(slab) * static_cast<int64_t>(size_of(piece.type.dtype));
  }
}

void check_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                std::vector<uint64_t>& checksums) {
  const auto* bytes = static_cast<const std::byte*>(dense);
  for (int64_t i = first; i < last; ++i) {
    const int64_t count = elements_of(box_of_rows(piece, tiles, i, i + 1));
    // Reads all elements in order first, which brings them to the cache faster than the short runs of tiles do.
    if (!are_finite(piece.type.dtype, bytes, count)) throw_not_finite(piece, tiles, i, i + 1);
    checksum_rows(piece, tiles, i, i + 1, bytes, checksums);
    bytes += count * static_cast<int64_t>(size_of(piece.type.dtype));
  }
}

ShardHeader::ShardHeader(const std::vector<ShardPiece>& pieces, const FileLayout& layout) {
  Metadata metadata;
  const TileChecksums none = no_checksums(pieces);
  for (size_t i = 0; i < pieces.size(); ++i) {
    metadata.emplace(kTilesOf + pieces[i].name, std::string(kChecksumDigits * none[i].size(), '0'));
    metadata.emplace(kBoxOf + pieces[i].name, print_box(pieces[i].box));
  }
  std::vector<TensorPlace> places;
  for (const size_t i : layout.order) {
    const Type type = piece_type(pieces[i]);
    places.push_back({pieces[i].name, type, layout.begins[i], layout.begins[i] + type.bytes()});
  }
  text_ = print_safetensors_header(places, metadata);
  const size_t bytes = (sizeof(uint64_t) + text_.size() + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
  text_.resize(bytes - sizeof(uint64_t), ' ');

  // Metadata are printed in the order of their keys.
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return pieces[a].name < pieces[b].name; });
  digits_.resize(pieces.size());
  size_t at = 0;
  for (const size_t i : order) {
    // Names may contain what looks like a key, but a quote inside a name is preceded by a backslash.
    const std::string key = "," + json_of(kTilesOf + pieces[i].name) + ":\"";
    at = text_.find(key, at);
    PARTITA_CHECK(at != text_.npos, "no checksums of '{}' in the header", pieces[i].name);
    digits_[i] = at += key.size();
  }
}

const std::string& ShardHeader::print(const TileChecksums& checksums) {
  for (size_t i = 0; i < digits_.size(); ++i) {
    char* digits = text_.data() + digits_[i];
    for (const uint64_t checksum : checksums[i]) {
      write_checksum(digits, checksum);
      digits += kChecksumDigits;
    }
  }
  return text_;
}

ShardDigest digest_of(const std::string& header, const FileLayout& layout, const TileChecksums& checksums) {
  ShardDigest digest{.bytes = static_cast<int64_t>(sizeof(uint64_t) + header.size()) + layout.bytes,
                     .header = checksum_of_text(header)};
  for (const auto& tiles : checksums) digest.pieces.push_back(checksum_of_all(tiles));
  return digest;
}

std::vector<uint64_t> parse_checksums(std::string_view text, int64_t count) {
  if (text.size() != static_cast<size_t>(count) * kChecksumDigits) return {};
  std::vector<uint64_t> checksums;
  for (size_t at = 0; at < text.size(); at += kChecksumDigits) {
    const auto checksum = parse_checksum(text.substr(at, kChecksumDigits));
    if (!checksum) return {};
    checksums.push_back(*checksum);
  }
  return checksums;
}

std::string print_in_box(const Box& box) { return box.empty() ? "" : " in " + print_box(box); }

std::string print_box(const Box& box) {
  if (box.empty()) return "";
  std::string ranges, sizes;
  for (const Range& range : box) {
    ranges += fmt::format("{}{}:{}", ranges.empty() ? "" : ",", range.begin, range.end);
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", range.size);
  }
  return ranges + " of " + sizes;
}

}  // namespace partita
