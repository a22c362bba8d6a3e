#pragma once
// A tensor as tiles, each with its own checksum, so that a part can be read and checked without the rest.
//
// The tiles form a grid over the whole tensor: dimension d is cut into `parts[d]` chunks (ir/sharding/rule.h). The
// usual number of parts, 24, is a multiple of 2, 3, 4, 6, 8 and 12, so the shards of that many ranks consist of whole
// tiles.

#include "ir/sharding/box_runs.h"

namespace partita {

/// Returns the number of parts into which tiles cut each dimension of a tensor: at most 24, but more in the first one
/// if rows of tiles along it would exceed 8 MiB and it is long enough. Fewer if tiles would have under about 2 KiB, or
/// runs of under 32 bytes; 1 for a dimension without elements.
std::vector<int64_t> choose_parts(const Type& type);

/// The tiles of a box of a tensor, row-major. The box cuts the tiles on its border.
class Tiles {
 public:
  /// `parts` has a number from 1 to its size for each dimension, or 1 if the size is 0. The box is not empty. Throws
  /// InternalError if they have different numbers of dimensions.
  Tiles(const std::vector<int64_t>& parts, const Box& box);

  /// Number of tiles.
  int64_t count() const;
  /// Number of tiles along one dimension.
  int64_t along(size_t dim) const { return static_cast<int64_t>(bounds_[dim].size()) - 1; }
  /// Number of rows of tiles along the first dimension; 1 for a scalar.
  int64_t rows() const { return bounds_.empty() ? 1 : along(0); }
  /// The tiles [first, last) along `dim` that overlap indices [begin, end), which are inside the box.
  std::pair<int64_t, int64_t> overlapping(size_t dim, int64_t begin, int64_t end) const;
  /// The indices that tiles [first, last) cover along `dim`.
  Range range(size_t dim, int64_t first, int64_t last) const;
  /// Calls fn(number, box) for each tile in a box of tiles, given as [first, last) per dimension; for none if a range
  /// is empty. The numbers count the tiles of the whole box, row-major.
  template <class Fn>
  void for_each(const std::vector<std::pair<int64_t, int64_t>>& tiles, Fn&& fn) const;
  /// Calls fn(number, box) for all tiles.
  template <class Fn>
  void for_each(Fn&& fn) const;

 private:
  std::vector<std::vector<int64_t>> bounds_;  // per dimension: begin of each tile, and the end of the last
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
    bool is_last = true;  // whether all dimensions from d on were at their end
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
