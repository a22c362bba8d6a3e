#pragma once
// Finds the lowest free offset for a block of memory with a lifetime.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace partita {

/// Disjoint ranges of bytes. Adjacent ranges are merged.
class ByteRanges {
 public:
  void add(int64_t begin, int64_t end);
  bool empty() const { return ranges_.empty(); }
  /// End of the first range that overlaps [begin, end), or `begin` if none does.
  int64_t end_of_overlap(int64_t begin, int64_t end) const;

 private:
  std::map<int64_t, int64_t> ranges_;  // begin of a range to its end
};

/// A segment tree over moments (Bentley, 1977). A block is stored at the few nodes that make up its lifetime. Each node
/// has the byte ranges of the blocks that are live throughout its span, and of those that are live at any moment of it.
class Occupancy {
 public:
  struct Lifetime {
    size_t first = 0, last = 0;  // moments, both inclusive
  };

  explicit Occupancy(size_t moments);
  /// Reserves `bytes` at the lowest offset, at or after `base`, that is free throughout the lifetime. Returns the
  /// offset.
  int64_t take(Lifetime lifetime, int64_t base, int64_t bytes);

 private:
  struct Node {
    ByteRanges throughout, sometimes;
  };
  struct Span {
    size_t node, begin, end;  // node of the tree and its moments [begin, end)
  };
  template <class Partly, class Wholly>
  void visit(Span span, Lifetime lifetime, const Partly& partly, const Wholly& wholly);

  std::vector<Node> nodes_;
  size_t moments_ = 1;  // a power of two
};

}  // namespace partita
