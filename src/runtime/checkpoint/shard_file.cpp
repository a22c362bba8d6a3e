#include "runtime/checkpoint/shard_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/convert_elements.h"
#include "base/resources.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {
namespace {

constexpr int64_t kMinParallelBytes = int64_t{1} << 20;

int64_t size_in_bytes(DType dtype) { return static_cast<int64_t>(size_of(dtype)); }

}  // namespace

ShardFileWriter::ShardFileWriter(const std::string& path, std::vector<ShardPiece> pieces)
    : path_(path),
      pieces_(std::move(pieces)),
      layout_(file_layout(pieces_)),
      checksums_(no_checksums(pieces_)),
      header_(pieces_, layout_),
      file_(path) {
  if (!file_.is_open()) throw_cannot_write("checkpoint", path_, std::strerror(errno));
}

void ShardFileWriter::write(size_t piece, const void* dense) {
  if (elements_of(pieces_[piece].box) == 0) return;
  const int64_t bytes = piece_type(pieces_[piece]).bytes(), begin = header_.bytes() + layout_.begins[piece];
  int reason = 0;
  const auto put = [&] {
    if (!write_all_at(file_.fd(), dense, static_cast<size_t>(bytes), begin)) reason = errno;
    // Starts writing to the disk now; finish() waits for it.
    ::sync_file_range(file_.fd(), begin, bytes, SYNC_FILE_RANGE_WRITE);
  };
  {
    // A second thread writes large pieces while this one computes their checksums.
    std::jthread writing;
    if (bytes >= kMinParallelBytes) {
      writing = start_thread("a thread that writes a checkpoint", put);
    } else {
      put();
    }
    const Tiles tiles(pieces_[piece].parts, pieces_[piece].box);
    check_rows(pieces_[piece], tiles, 0, tiles.rows(), dense, checksums_[piece]);
  }
  if (reason != 0) throw_cannot_write("checkpoint", path_, std::strerror(reason));
}

ShardDigest ShardFileWriter::finish() {
  const std::string& text = header_.print(checksums_);
  const uint64_t length = text.size();
  if (!write_all_at(file_.fd(), &length, sizeof length, 0) ||
      !write_all_at(file_.fd(), text.data(), text.size(), sizeof length) || ::fsync(file_.fd()) != 0 ||
      !file_.close()) {
    throw_cannot_write("checkpoint", path_, std::strerror(errno));
  }
  return digest_of(text, layout_, checksums_);
}

ShardFileReader::ShardFileReader(std::string path, int64_t bytes, const std::string& header,
                                 std::vector<ShardPiece> pieces, OpenFiles& files, int64_t& bytes_read)
    : path_(std::move(path)), bytes_(bytes), files_(files), bytes_read_(bytes_read) {
  const std::shared_ptr<const File> file = open();
  const auto refuse = [&](const std::string& what) { throw InvalidFile("[checkpoint] {}: {}", path_, what); };
  uint64_t length = 0;
  if (bytes < 8 || !read_all(file->fd(), &length, sizeof length, 0)) refuse("too short for a header");
  if (length < 2 || length > static_cast<uint64_t>(std::min(kMaxHeaderBytes, bytes - 8))) {
    refuse(fmt::format("wrong header length at offset 0, got {}", length));
  }
  std::string text(length, '\0');
  if (!read_all(file->fd(), text.data(), text.size(), sizeof length)) refuse("the header cannot be read");
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
        refuse(fmt::format("tensor '{}' does not have the checksums of {} tiles", name, count));
      }
    }
    entry.piece = std::move(piece);
    entries_.emplace(name, std::move(entry));
  }
}

std::shared_ptr<const File> ShardFileReader::open() const {
  OpenFiles::Opened opened = files_.get(path_);
  if (opened.file == nullptr) {
    const std::string text = fmt::format("[checkpoint] {}: a file of the checkpoint cannot be opened: {}", path_,
                                         std::strerror(opened.error));
    // These errors say nothing about the checkpoint itself.
    if (opened.error == EMFILE || opened.error == ENFILE || opened.error == ENOMEM) throw MissingFile(text);
    throw InvalidFile(text);
  }
  struct stat status {};
  if (::fstat(opened.file->fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw InvalidFile("[checkpoint] {}: not a regular file, expected a safetensors file", path_);
  }
  if (status.st_size != bytes_) {
    throw InvalidFile("[checkpoint] {}: wrong size, got {} bytes, expected {}", path_, status.st_size, bytes_);
  }
  return std::move(opened.file);
}

uint64_t ShardFileReader::checksum(const std::string& name) const {
  return checksum_of_all(entries_.at(name).checksums);
}

void ShardFileReader::read(const std::string& name, const Box& part, const Box& target, DType dtype, void* to) const {
  const Entry& entry = entries_.at(name);
  const Box& box = entry.piece.box;
  if (elements_of(part) == 0) return;
  const std::shared_ptr<const File> file = open();
  const Tiles tiles(entry.piece.parts, box);
  const DType own = entry.piece.type.dtype;
  const int64_t size = size_in_bytes(own);
  std::vector<std::pair<int64_t, int64_t>> wanted;
  for (size_t d = 0; d < box.size(); ++d) wanted.push_back(tiles.overlapping(d, part[d].begin, part[d].end));
  // One row of tiles along the first dimension after another; a scalar is one row.
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
      if (!read_all(file->fd(), bytes.data() + place * size, run, entry.begin + first * size)) {
        throw InvalidFile("[checkpoint] {}: tensor '{}' cannot be read", path_, name);
      }
      bytes_read_ += static_cast<int64_t>(run);
    });
    tiles.for_each(wanted, [&](int64_t number, const Box& tile) {
      if (tile_checksum(checksum, tile, slab, bytes.data(), own) == entry.checksums[static_cast<size_t>(number)])
        return;
      throw InvalidFile("[checkpoint] {}: tensor '{}' is damaged{}", path_, name, print_in_box(tile));
    });
    const Box here = *common_box(slab, part);
    for_common_runs(here, slab, target, [&](int64_t first, int64_t place, int64_t count) {
      convert_elements(own, bytes.data() + first * size, dtype, static_cast<char*>(to) + place * size_in_bytes(dtype),
                       count);
    });
  }
}

}  // namespace partita
