#pragma once
// A list of numbers that is asked for the last one that is large enough.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace partita {

/// A binary tree of largest numbers: all calls take the logarithm of the length.
class LastFit {
 public:
  void push_back(int64_t number);
  void set(int place, int64_t number);
  /// The last place whose number is at least `number`, or -1.
  int last_at_least(int64_t number) const;

 private:
  size_t leaves() const { return largest_.size() / 2; }

  std::vector<int64_t> largest_;  // node i is above 2 i and 2 i + 1; the numbers are the second half
  size_t size_ = 0;
};

}  // namespace partita
