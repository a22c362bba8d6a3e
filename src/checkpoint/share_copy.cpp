#include "checkpoint/share_copy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/first_error.h"
#include "checkpoint/files.h"

namespace partita {
namespace {

/// Rows of tiles of a piece whose checksums one thread computes.
struct Rows {
  size_t piece;
  int64_t first, last;
};

/// Of about a MiB or more.
void add_rows(std::vector<Rows>& all, size_t number, const ShardPiece& piece, const Tiles& tiles) {
  constexpr int64_t kLeastBytes = int64_t{1} << 20;
  const int64_t rows = tiles.rows();
  const int64_t blocks = std::clamp<int64_t>(piece_type(piece).bytes() / kLeastBytes, 1, rows);
  for (int64_t block = 0; block < blocks; ++block) {
    all.push_back({number, rows * block / blocks, rows * (block + 1) / blocks});
  }
}

}  // namespace

ShareCopy::ShareCopy(std::vector<ShardPiece> pieces)
    : pieces_(std::move(pieces)), layout_(file_layout(pieces_)), checksums_(no_checksums(pieces_)) {
  const auto bytes = static_cast<size_t>(layout_.bytes);
  memory_.reset(new (std::align_val_t{kHugePage}) std::byte[bytes]);
  ::madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // an advice: where it is not taken, pages are small
  std::memset(memory_.get(), 0, bytes);
}

void ShareCopy::compute_checksums(std::span<const size_t> pieces) {
  std::vector<std::optional<Tiles>> tiles(pieces_.size());
  std::vector<Rows> all;
  for (const size_t i : pieces) {
    if (elements_of(pieces_[i].box) == 0) continue;
    tiles[i].emplace(pieces_[i].parts, pieces_[i].box);
    add_rows(all, i, pieces_[i], *tiles[i]);
  }
  FirstError error;
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < all.size(); ++i) {
    const Rows& rows = all[i];
    const size_t piece = rows.piece;
    error.run(
        [&] { checksum_rows(pieces_[piece], *tiles[piece], rows.first, rows.last, place(piece), checksums_[piece]); });
  }
  error.rethrow();
}

void ShareCopy::compute_checksums() {
  std::vector<size_t> all(pieces_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  compute_checksums(all);
}

void ShareCopy::compute_checksums_of(size_t piece) {
  const ShardPiece& one = pieces_[piece];
  if (elements_of(one.box) == 0) return;
  const Tiles tiles(one.parts, one.box);
  checksum_rows(one, tiles, 0, tiles.rows(), place(piece), checksums_[piece]);
}

ShardDigest ShareCopy::write(const std::string& path) const {
  const std::string header = print_shard_header(pieces_, layout_, checksums_);
  const uint64_t length = header.size();
  const auto begin = static_cast<int64_t>(sizeof length + header.size());
  File file = new_file(path);
  if (!file.is_open() || !write_past_cache(file.fd(), memory_.get(), static_cast<size_t>(layout_.bytes), begin) ||
      !write_all_at(file.fd(), &length, sizeof length, 0) ||
      !write_all_at(file.fd(), header.data(), header.size(), sizeof length) || ::fsync(file.fd()) != 0 ||
      !file.close()) {
    throw_cannot_write("checkpoint", path, std::strerror(errno));
  }
  return digest_of(header, layout_, checksums_);
}

}  // namespace partita
