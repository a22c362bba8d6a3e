#include "frontend/data/readers/token_mask.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace partita {
namespace {

constexpr int64_t kMaskBytesAtOnce = 512, kMaskBytesToSearch = 1 << 16;

struct MaskHeader {
  std::array<char, 8> magic{};
  uint64_t version = 0, tokens = 0;
};
static_assert(sizeof(MaskHeader) == kMaskHeader && kMaskMagic.size() == 8);

bool has_magic(const MaskHeader& header) { return std::string_view(header.magic.data(), 8) == kMaskMagic; }

}  // namespace

std::filesystem::path mask_path(const std::filesystem::path& ids) {
  std::filesystem::path path = ids;
  const std::filesystem::path ending = ids.extension();
  for (const char* known : {".bin", ".idx", ".u16", ".u32", ".npy"}) {
    if (ending == known) return path.replace_extension(".mask");
  }
  return path += ".mask";
}

bool is_mask(const std::filesystem::path& path) {
  std::array<char, 8> begin{};
  std::ifstream stream(path, std::ios::binary);
  return stream.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) == kMaskMagic;
}

TokenMask::TokenMask(const std::filesystem::path& path, int64_t tokens) : file_(path) {
  MaskHeader header;
  if (file_.size() >= kMaskHeader) file_.read(0, &header, kMaskHeader);
  if (!has_magic(header) || header.version != kMaskVersion) {
    throw InvalidFile("[tokens] '{}' is no mask of ids, got {}, expected one of version {}", path.string(),
                      has_magic(header) ? fmt::format("version {}", header.version)
                                        : fmt::format("another file of {} bytes", file_.size()),
                      kMaskVersion);
  }
  if (header.tokens != static_cast<uint64_t>(tokens)) {
    throw InvalidFile("[tokens] '{}' is the mask of another file, got {} ids, expected {}", path.string(),
                      header.tokens, tokens);
  }
  const int64_t bytes = kMaskHeader + (tokens + 7) / 8;
  if (file_.size() != bytes) {
    throw InvalidFile("[tokens] another size of '{}', got {} bytes, expected {} for {} ids", path.string(),
                      file_.size(), bytes, tokens);
  }
  if (tokens > 0 && !has_target(tokens)) {
    throw InvalidFile(
        "[tokens] '{}' leaves nothing to learn, got 0 targets in {} ids, expected at least one, or no mask",
        path.string(), tokens);
  }
  file_.expect_random_reads();
}

bool TokenMask::has_target(int64_t tokens) const {
  std::vector<uint8_t> bytes(kMaskBytesToSearch);
  for (int64_t begin = 0, end = (tokens + 7) / 8; begin < end; begin += kMaskBytesToSearch) {
    const int64_t now = std::min(end - begin, kMaskBytesToSearch);
    file_.read(kMaskHeader + begin, bytes.data(), now);
    if (std::any_of(bytes.begin(), bytes.begin() + now, [](uint8_t byte) { return byte != 0; })) return true;
  }
  return false;
}

void TokenMask::copy(int64_t first, int64_t count, bool* to) const {
  std::array<uint8_t, kMaskBytesAtOnce> bytes;
  for (const int64_t end = first + count; first < end;) {
    const int64_t begin = first / 8, now = std::min((end + 7) / 8 - begin, kMaskBytesAtOnce);
    file_.read(kMaskHeader + begin, bytes.data(), now);
    for (const int64_t stop = std::min(end, (begin + now) * 8); first < stop; ++first) {
      *to++ = (bytes[static_cast<size_t>(first / 8 - begin)] >> (first % 8) & 1) != 0;
    }
  }
}

}  // namespace partita
