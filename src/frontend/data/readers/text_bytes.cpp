#include "frontend/data/readers/text_bytes.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "frontend/data/readers/file_bytes.h"

namespace partita {

TextBytes::TextBytes(std::vector<std::vector<uint8_t>> pieces, std::string file)
    : pieces_(std::move(pieces)), file_(std::move(file)) {
  for (const auto& piece : pieces_) size_ += static_cast<int64_t>(piece.size());
  if (!pieces_.empty()) piece_ = std::max<int64_t>(1, static_cast<int64_t>(pieces_[0].size()));
}

void TextBytes::copy(int64_t offset, int64_t count, int32_t* to) const {
  for (int64_t done = 0; done < count;) {
    const std::vector<uint8_t>& piece = pieces_[piece_of(offset + done)];
    const size_t place = place_of(offset + done);
    const auto run = std::min(count - done, static_cast<int64_t>(piece.size() - place));
    std::copy_n(piece.data() + place, run, to + done);
    done += run;
  }
}

void TextBytes::keep(int64_t begin, int64_t end) {
  const size_t first = begin < end ? piece_of(begin) : 0, last = begin < end ? piece_of(end - 1) + 1 : 0;
  begin_ = begin < end ? static_cast<int64_t>(place_of(begin)) : 0;
  pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(last), pieces_.end());
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first));
  first_ += begin;
  size_ = end - begin;
}

IntegerRange TextBytes::integers(int64_t count) const {
  std::array<int64_t, 256> first;  // first position of each byte
  first.fill(-1);
  int64_t offset = 0;
  for (size_t i = 0; i < pieces_.size() && offset < count; ++i) {
    const auto place = static_cast<size_t>(i == 0 ? begin_ : 0);
    const auto run = std::min(count - offset, static_cast<int64_t>(pieces_[i].size() - place));
    const uint8_t* bytes = pieces_[i].data() + place;
    for (int64_t k = 0; k < run; ++k) {
      if (first[bytes[k]] < 0) first[bytes[k]] = offset + k;
    }
    offset += run;
  }
  const auto found = [&](int64_t byte) {
    const int64_t at = first_ + first[static_cast<size_t>(byte)];
    const std::string place = file_.empty() ? fmt::format("byte {}", at) : fmt::format("byte {} of {}", at, file_);
    return FoundInteger{.value = byte, .place = place, .is_in_file = !file_.empty()};
  };
  int64_t least = 0, greatest = 255;
  while (least < 255 && first[static_cast<size_t>(least)] < 0) ++least;
  while (greatest > 0 && first[static_cast<size_t>(greatest)] < 0) --greatest;
  return {found(least), found(greatest)};
}

TextBytes read_text_bytes(const std::filesystem::path& file, int64_t limit) {
  constexpr int64_t kPieceBytes = 4 << 20;
  PackedFile packed(file);
  std::vector<std::vector<uint8_t>> pieces;
  int64_t bytes = 0;
  while (true) {
    std::vector<uint8_t> piece = packed.read(kPieceBytes);
    if (piece.empty()) return TextBytes(std::move(pieces), file.string());
    bytes += static_cast<int64_t>(piece.size());
    if (bytes > limit) {
      throw InvalidFile("[data] file too large: '{}', got more than {} bytes unpacked, expected at most that",
                        file.string(), limit);
    }
    piece.shrink_to_fit();
    pieces.push_back(std::move(piece));
  }
}

}  // namespace partita
