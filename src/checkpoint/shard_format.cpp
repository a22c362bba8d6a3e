#include "checkpoint/shard_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "checkpoint/files.h"
#include "checkpoint/safetensors_header.h"

namespace partita {
namespace {

/// Copies a run of a tile, in steps of a fixed size, which are moves in place of a call.
void copy_run(char* to, const char* from, size_t bytes) {
  constexpr size_t kStep = 32;
  if (bytes < kStep) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (size_t at = 0; at + kStep < bytes; at += kStep) std::memcpy(to + at, from + at, kStep);
  std::memcpy(to + bytes - kStep, from + bytes - kStep, kStep);  // may copy some of the last ones again
}

/// A float is not finite when all bits of its exponent are set.
template <class T>
bool are_finite(const char* bytes, int64_t count) {
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

bool are_finite(DType dtype, const char* bytes, int64_t count) {
  bool good = true;
  if (is_float(dtype)) for_float(dtype, [&](auto zero) { good = are_finite<decltype(zero)>(bytes, count); });
  return good;
}

}  // namespace

Type piece_type(const ShardPiece& piece) { return {piece.type.dtype, shape_of(piece.box)}; }

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
  // Runs are put together: XXH3 takes many short ones slowly.
  constexpr size_t kMost = size_t{1} << 14;
  alignas(64) char together[kMost];
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
    if (used + length > kMost && used > 0) checksum.add(together, std::exchange(used, 0));
    if (length > kMost) return checksum.add(run, length);
    copy_run(together + used, run, length);
    used += length;
  });
  if (only_run != nullptr) return checksum_of(only_run, all);
  if (used == all) return checksum_of(together, used);
  checksum.add(together, used);
  return checksum.take();
}

void checksum_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                   std::vector<uint64_t>& checksums) {
  const auto size = static_cast<int64_t>(size_of(piece.type.dtype));
  const Box& box = piece.box;
  std::vector<std::pair<int64_t, int64_t>> row;
  for (size_t d = 0; d < box.size(); ++d) row.emplace_back(0, tiles.along(d));
  Checksum checksum;
  for (int64_t i = first; i < last; ++i) {
    Box slab = box;
    if (!box.empty()) {
      row[0] = {i, i + 1};
      slab[0] = tiles.range(0, i, i + 1);
    }
    const int64_t count = elements_of(slab);
    const int64_t begin = box.empty() ? 0 : (slab[0].begin - box[0].begin) * (count / slab[0].count());
    const char* bytes = static_cast<const char*>(dense) + begin * size;
    // All in their order first, which brings them to the cache faster than the short runs of tiles do.
    if (!are_finite(piece.type.dtype, bytes, count)) {
      throw RuntimeFailure(ExitCode::non_finite,
                           fmt::format("[checkpoint] '{}' is not finite, got NaN or infinity in {}, expected numbers; "
                                       "nothing was saved",
                                       piece.name, print_box(slab)));
    }
    tiles.for_each(row, [&](int64_t number, const Box& tile) {
      checksums[static_cast<size_t>(number)] = tile_checksum(checksum, tile, slab, bytes, piece.type.dtype);
    });
  }
}

std::string print_shard_header(const std::vector<ShardPiece>& pieces, const FileLayout& layout,
                               const TileChecksums& checksums) {
  Metadata metadata;
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::string digits;
    digits.reserve(kChecksumDigits * checksums[i].size());
    for (const uint64_t checksum : checksums[i]) append_checksum(digits, checksum);
    metadata.emplace(kTilesOf + pieces[i].name, std::move(digits));
    metadata.emplace(kBoxOf + pieces[i].name, print_box(pieces[i].box));
  }
  std::vector<TensorPlace> places;
  for (const size_t i : layout.order) {
    const Type type = piece_type(pieces[i]);
    places.push_back({pieces[i].name, type, layout.begins[i], layout.begins[i] + type.bytes()});
  }
  std::string text = print_safetensors_header(places, metadata);
  const size_t bytes = (sizeof(uint64_t) + text.size() + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
  text.resize(bytes - sizeof(uint64_t), ' ');
  return text;
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
