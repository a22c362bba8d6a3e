#include "frontend/data/readers/token_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "frontend/data/readers/random_access_file.h"

namespace partita {
namespace {

constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
constexpr int64_t kIndexHeader = 34;  // bytes

/// The numbers of one table of a file, read in order in pieces.
template <class Number>
class NumberTable {
 public:
  NumberTable(const RandomAccessFile& file, int64_t first_byte, int64_t count)
      : file_(file), next_byte_(first_byte), left_(count) {}

  /// Returns the next number, which must be there.
  Number next() {
    if (at_ == piece_.size()) {
      constexpr int64_t kPiece = 1 << 16;  // numbers
      piece_.resize(static_cast<size_t>(std::min(left_, kPiece)));
      const auto bytes = static_cast<int64_t>(piece_.size() * sizeof(Number));
      file_.read(next_byte_, piece_.data(), bytes);
      next_byte_ += bytes;
      left_ -= static_cast<int64_t>(piece_.size());
      at_ = 0;
    }
    return piece_[at_++];
  }

 private:
  const RandomAccessFile& file_;
  int64_t next_byte_, left_;
  std::vector<Number> piece_{};
  size_t at_ = 0;
};

struct IndexHeader {
  TokenType type = TokenType::u16;
  int64_t sequences = 0;
  int64_t boundaries = 0;
};

template <class... Values>
[[noreturn]] void refuse_index(const RandomAccessFile& file, MessageText<Values...> text, const Values&... values) {
  throw InvalidFile("[tokens] '{}': {}", file.path().string(), formatted(text, values...));
}

TokenType type_of_code(const RandomAccessFile& file, uint8_t code) {
  switch (code) {
    case 1: return TokenType::u8;
    case 4: return TokenType::i32;
    case 5: return TokenType::i64;
    case 8: return TokenType::u16;
    default:
      refuse_index(file, "element type not supported, got code {}, expected 1 (u8), 4 (i32), 5 (i64) or 8 (u16)",
                   static_cast<int>(code));
  }
}

IndexHeader read_index_header(const RandomAccessFile& file) {
  if (file.size() < kIndexHeader) {
    refuse_index(file, "truncated header, got {} bytes, expected {} or more", file.size(), kIndexHeader);
  }
  char bytes[kIndexHeader];
  file.read(0, bytes, kIndexHeader);
  if (std::string_view(bytes, kIndexMagic.size()) != kIndexMagic) {
    refuse_index(file, "wrong magic, got {:02x} {:02x} {:02x}, expected 'MMIDIDX'", uint8_t(bytes[0]),
                 uint8_t(bytes[1]), uint8_t(bytes[2]));
  }
  uint64_t version = 0, sequences = 0, boundaries = 0;
  std::memcpy(&version, bytes + 9, sizeof version);
  std::memcpy(&sequences, bytes + 18, sizeof sequences);
  std::memcpy(&boundaries, bytes + 26, sizeof boundaries);
  if (version != 1) refuse_index(file, "unknown version, got {}, expected 1", version);
  const TokenType type = type_of_code(file, static_cast<uint8_t>(bytes[17]));
  // No table is larger than the file, so sums do not overflow.
  const auto size = static_cast<uint64_t>(file.size());
  const bool fits = sequences <= size && boundaries <= size;
  const uint64_t needed = fits ? kIndexHeader + 12 * sequences + 8 * boundaries : 0;
  if (!fits || needed != size) {
    refuse_index(file, "another size, got {} bytes for {} sequences and {} boundaries of documents, expected {}", size,
                 sequences, boundaries, fits ? fmt::format("{}", needed) : std::string("more"));
  }
  if (boundaries == 0) refuse_index(file, "no documents, got no boundaries, expected 0 as the first one");
  return {type, static_cast<int64_t>(sequences), static_cast<int64_t>(boundaries)};
}

}  // namespace

TokenIndex read_token_index(const std::filesystem::path& path) {
  const RandomAccessFile file(path);
  const IndexHeader header = read_index_header(file);
  NumberTable<int32_t> lengths(file, kIndexHeader, header.sequences);
  NumberTable<int64_t> first_bytes(file, kIndexHeader + 4 * header.sequences, header.sequences);
  NumberTable<int64_t> boundaries(file, kIndexHeader + 12 * header.sequences, header.boundaries);
  TokenIndex index{.type = header.type};
  index.lengths.reserve(static_cast<size_t>(header.boundaries - 1));
  const int64_t width = width_of(header.type);
  int64_t sequence = 0;
  const int64_t first = boundaries.next();
  if (first != 0) refuse_index(file, "wrong boundary of a document, got {} as the first one, expected 0", first);
  for (int64_t document = 0; document + 1 < header.boundaries; ++document) {
    const int64_t end = boundaries.next();
    if (end < sequence || end > header.sequences) {
      refuse_index(file, "wrong boundary of document {}, got {}, expected {} to {}", document, end, sequence,
                   header.sequences);
    }
    int64_t length = 0;
    for (; sequence < end; ++sequence) {
      const int64_t ids = lengths.next(), byte = first_bytes.next();
      if (ids < 0) refuse_index(file, "negative length of sequence {}, got {}, expected 0 or more", sequence, ids);
      if (byte != (index.tokens + length) * width) {
        refuse_index(file, "sequence {} is not right after the one before it, got byte {}, expected {}", sequence, byte,
                     (index.tokens + length) * width);
      }
      length += ids;
    }
    if (length > std::numeric_limits<uint32_t>::max()) {
      refuse_index(file, "document {} too long, got {} ids, expected at most {}", document, length,
                   std::numeric_limits<uint32_t>::max());
    }
    index.lengths.push_back(static_cast<uint32_t>(length));
    index.tokens += length;
  }
  if (sequence != header.sequences) {
    refuse_index(file, "sequences without a document, got {} as the last boundary, expected {}", sequence,
                 header.sequences);
  }
  return index;
}

}  // namespace partita
