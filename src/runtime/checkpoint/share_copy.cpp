#include "runtime/checkpoint/share_copy.h"

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/first_error.h"

namespace partita {

ShareCopy::ShareCopy(std::vector<ShardPiece> pieces)
    : pieces_(std::move(pieces)),
      layout_(file_layout(pieces_)),
      checksums_(no_checksums(pieces_)),
      header_(pieces_, layout_) {
  const auto bytes = static_cast<size_t>(layout_.bytes);
  memory_.reset(new (std::align_val_t{kHugePage}) std::byte[bytes]);
  ::madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // only advice: pages are small if it is not taken
  std::memset(memory_.get(), 0, bytes);
  find_rows();
  find_chunks();
}

void ShareCopy::find_rows() {
  constexpr int64_t kMinBytes = int64_t{1} << 17;  // that a thread copies at a time, if the piece has as many
  for (size_t i = 0; i < pieces_.size(); ++i) {
    std::optional<Tiles>& tiles = tiles_.emplace_back();
    if (elements_of(pieces_[i].box) == 0) continue;
    tiles.emplace(pieces_[i].parts, pieces_[i].box);
    const Box& box = pieces_[i].box;
    const int64_t rows = tiles->rows(), all = piece_type(pieces_[i]).bytes();
    const int64_t parts = std::clamp<int64_t>(all / kMinBytes, 1, rows);
    int64_t begin = layout_.begins[i];
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = rows * part / parts, last = rows * (part + 1) / parts;
      const Range indices = box.empty() ? Range{0, 1, 1} : tiles->range(0, first, last);
      const int64_t part_bytes = box.empty() ? all : all / box[0].count() * indices.count();
      rows_.push_back({i, first, last, indices, begin, part_bytes});
      begin += part_bytes;
    }
  }
}

void ShareCopy::find_chunks() {
  // Consecutive rows go to the same thread as long as all threads have enough work: both use the same blocks of
  // kernels' memory formats, which are then in its cache.
  constexpr int64_t kMaxBytes = int64_t{6} << 20;  // per chunk
  constexpr int64_t kChunksPerThread = 16;
  const int64_t most = std::min(kMaxBytes, layout_.bytes / (kChunksPerThread * omp_get_max_threads()));
  int64_t bytes = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    bytes += rows_[i].bytes;
    if (i == 0 || rows_[i].piece != rows_[i - 1].piece || bytes > most) {
      chunks_.emplace_back(i, i);
      bytes = rows_[i].bytes;
    }
    chunks_.back().second = i + 1;
  }
}

template <class Fn>
void ShareCopy::for_all_rows(Fn&& fn) {
  FirstError error;
#pragma omp parallel for schedule(dynamic)
  for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    for (size_t i = chunks_[chunk].first; i < chunks_[chunk].second && !error.is_kept(); ++i) {
      error.run([&] { fn(rows_[i]); });
    }
  }
  error.rethrow();
}

void ShareCopy::fill(const CopyRows& copy, bool with_checksums) {
  for_all_rows([&](const Rows& rows) {
    const ShardPiece& piece = pieces_[rows.piece];
    const Tiles& tiles = *tiles_[rows.piece];
    const void* dense = copy(rows.piece, rows.indices.begin, rows.indices.end, memory_.get() + rows.begin);
    if (dense == nullptr) throw_not_finite(piece, tiles, rows.first, rows.last);
    if (with_checksums) checksum_rows(piece, tiles, rows.first, rows.last, dense, checksums_[rows.piece]);
  });
}

void ShareCopy::compute_checksums() {
  for_all_rows([&](const Rows& rows) {
    checksum_rows(pieces_[rows.piece], *tiles_[rows.piece], rows.first, rows.last, memory_.get() + rows.begin,
                  checksums_[rows.piece]);
  });
}

ShardDigest ShareCopy::write(const std::string& path) {
  const std::string& header = header_.print(checksums_);
  const uint64_t length = header.size();
  FileInTurn file(path);
  if (!file.is_open() ||
      !write_past_cache(file.fd(), memory_.get(), static_cast<size_t>(layout_.bytes), header_.bytes()) ||
      !write_all_at(file.fd(), &length, sizeof length, 0) ||
      !write_all_at(file.fd(), header.data(), header.size(), sizeof length) || ::fsync(file.fd()) != 0 ||
      !file.close()) {
    throw_cannot_write("checkpoint", path, std::strerror(errno));
  }
  return digest_of(header, layout_, checksums_);
}

}  // namespace partita
