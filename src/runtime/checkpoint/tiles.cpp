#include "runtime/checkpoint/tiles.h"

namespace partita {
namespace {

constexpr int64_t kUsualParts = 24;
constexpr int64_t kMinTileBytes = 2048;
constexpr int64_t kMinRunBytes = 32;
constexpr int64_t kMaxSlabBytes = int64_t{8} << 20;  // per row of tiles along the first dimension

int64_t product(const std::vector<int64_t>& numbers) {
  int64_t result = 1;
  for (const int64_t number : numbers) result *= number;
  return result;
}

/// The next smaller number of parts to try: 12, 8, 6, 4, 3, 2 or 1.
int64_t fewer(int64_t parts) {
  for (const int64_t next : {12, 8, 6, 4, 3, 2}) {
    if (next < parts) return next;
  }
  return 1;
}

}  // namespace

std::vector<int64_t> choose_parts(const Type& type) {
  std::vector<int64_t> parts;
  for (const int64_t size : type.shape) parts.push_back(std::clamp<int64_t>(size, 1, kUsualParts));
  const int64_t bytes = type.bytes();
  // Keeps the last dimensions whole until the contiguous run of a tile is long enough: those of convolution filters are
  // short.
  auto run = static_cast<int64_t>(size_of(type.dtype));
  for (size_t d = parts.size(); d-- > 0;) {
    while (parts[d] > 1 && run * (type.shape[d] / parts[d]) < kMinRunBytes) parts[d] = fewer(parts[d]);
    if (parts[d] > 1) break;
    run *= type.shape[d];
  }
  // If tiles are still too small, reduces parts from the last dimension to the first.
  for (size_t d = parts.size(); d-- > 0;) {
    while (parts[d] > 1 && bytes / product(parts) < kMinTileBytes) parts[d] = fewer(parts[d]);
  }
  if (!parts.empty() && parts[0] == kUsualParts) {
    const int64_t times = (bytes / kUsualParts + kMaxSlabBytes - 1) / kMaxSlabBytes;
    if (times > 1) parts[0] = std::min(kUsualParts * times, type.shape[0]);
  }
  return parts;
}

Tiles::Tiles(const std::vector<int64_t>& parts, const Box& box) : box_(box) {
  PARTITA_CHECK(parts.size() == box.size(), "{} parts for {} dimensions", parts.size(), box.size());
  for (size_t d = 0; d < box.size(); ++d) {
    std::vector<int64_t>& bounds = bounds_.emplace_back(1, box[d].begin);
    // The chunk in which the box begins, or the one before it.
    int64_t i = box[d].size == 0 ? 0 : std::max<int64_t>(0, box[d].begin * parts[d] / box[d].size - 1);
    for (; i < parts[d]; ++i) {
      const int64_t end = std::min(chunk(box[d].size, i, parts[d]).end, box[d].end);
      if (end > bounds.back()) bounds.push_back(end);
    }
  }
}

int64_t Tiles::count() const {
  int64_t count = 1;
  for (size_t d = 0; d < bounds_.size(); ++d) count *= along(d);
  return count;
}

std::pair<int64_t, int64_t> Tiles::overlapping(size_t dim, int64_t begin, int64_t end) const {
  const std::vector<int64_t>& bounds = bounds_[dim];
  const auto first = std::ranges::upper_bound(bounds, begin) - bounds.begin() - 1;
  const auto last = std::ranges::lower_bound(bounds, end) - bounds.begin();
  return {first, last};
}

Range Tiles::range(size_t dim, int64_t first, int64_t last) const {
  const std::vector<int64_t>& bounds = bounds_[dim];
  return {bounds[static_cast<size_t>(first)], bounds[static_cast<size_t>(last)], box_[dim].size};
}

}  // namespace partita
