#pragma once
// Random permutations that need no memory.

#include <array>
#include <cstdint>

namespace partita {

/// A random permutation of the integers [0, size), of which each number is computed when it is asked for: a Feistel
/// network over a power of two, 1024 or the least that holds `size`, repeated until the number is below `size`. Source:
/// J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
class Permutation {
 public:
  /// The permutation number `time` of the stream `key`. `size` must be at least 0.
  Permutation(int64_t size, uint64_t key, uint64_t time);

  int64_t size() const { return size_; }
  /// Returns the number at `index`, which must be in [0, size).
  int64_t operator()(int64_t index) const;

 private:
  static constexpr int kRounds = 8;

  int64_t size_ = 0;
  int high_bits_ = 0, low_bits_ = 0;
  std::array<uint64_t, kRounds> keys_{};
};

}  // namespace partita
