#pragma once
// A tensor as tiles, each with a checksum of its own, so that what is read of a part can be checked without the rest.
//
// The tiles are those of a grid over the whole tensor: dimension d is cut into `parts[d]` chunks (ir/sharding/rule.h).
// 24 is a multiple of 2, 3, 4, 6, 8 and 12: parts of so many ranks consist of whole tiles.

#include "ir/sharding/box_runs.h"

namespace partita {

/// Parts of each dimension. Tiles have about 2 KiB or more, in runs of 32 bytes or more, and a row of tiles along the
/// first dimension at most 8 MiB where it can be cut so.
std::vector<int64_t> choose_parts(const Type& type);

/// The tiles of a box of a tensor, row-major; those on the border of the box are cut by it.
class Tiles {
 public:
  /// `parts` has for each dimension a number from 1 to its size, or 1; the box is not empty.
  Tiles(const std::vector<int64_t>& parts, const Box& box);

  int64_t count() const;
  /// Of one dimension.
  int64_t along(size_t dim) const { return static_cast<int64_t>(bounds_[dim].size()) - 1; }
  /// Along the first dimension; 1 of a scalar.
  int64_t rows() const { return bounds_.empty() ? 1 : along(0); }
  /// Tiles [first, last) of dimension `dim` that have indices of [begin, end), which lies in the box.
  std::pair<int64_t, int64_t> overlapping(size_t dim, int64_t begin, int64_t end) const;
  /// The indices of dimension `dim` that tiles [first, last) have.
  Range range(size_t dim, int64_t first, int64_t last) const;
  /// Calls fn(number, box) for the tiles in a box of tiles: [first, last) for each dimension.
  template <class Fn>
  void for_each(const std::vector<std::pair<int64_t, int64_t>>& tiles, Fn&& fn) const;
  /// For all of them.
  template <class Fn>
  void for_each(Fn&& fn) const;

 private:
  std::vector<std::vector<int64_t>> bounds_;  // of each dimension: where its tiles begin, and the end of the last
  Box box_;
};

template <class Fn>
void Tiles::for_each(const std::vector<std::pair<int64_t, int64_t>>& tiles, Fn&& fn) const {
  std::vector<int64_t> at;
  Box tile;
  for (const auto& [first, last] : tiles) {
    if (first >= last) return;
    tile.push_back(range(at.size(), first, first + 1));
    at.push_back(first);
  }
  while (true) {
    int64_t number = 0;
    for (size_t d = 0; d < at.size(); ++d) number = number * along(d) + at[d];
    fn(number, std::as_const(tile));
    bool is_last = true;  // along the dimensions behind the one that goes on
    for (size_t d = at.size(); d > 0 && is_last;) {
      --d;
      is_last = ++at[d] == tiles[d].second;
      if (is_last) at[d] = tiles[d].first;
      tile[d] = range(d, at[d], at[d] + 1);
    }
    if (is_last) return;
  }
}

template <class Fn>
void Tiles::for_each(Fn&& fn) const {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (size_t d = 0; d < bounds_.size(); ++d) all.emplace_back(0, along(d));
  for_each(all, std::forward<Fn>(fn));
}

}  // namespace partita
