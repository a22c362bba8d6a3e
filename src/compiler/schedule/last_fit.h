#pragma once
// A list of numbers that finds the last one of at least a given size.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace partita {

/// A binary tree of maxima. All calls take time logarithmic in the length.
class LastFit {
 public:
  void push_back(int64_t number);
  void set(int place, int64_t number);
  /// Returns the index of the last number that is at least `number`, or -1 if there is none.
  int last_at_least(int64_t number) const;

 private:
  size_t leaves() const { return largest_.size() / 2; }

  std::vector<int64_t> largest_;  // the children of node i are 2 i and 2 i + 1; the second half holds the numbers
  size_t size_ = 0;
};

}  // namespace partita
