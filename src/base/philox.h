#pragma once
// Counter-based random numbers: Philox4x32-10.
//
// Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Element e of
// a tensor uses lane e mod 4 of counter (e / 4, step), where e is its row-major index in the *global* shape. So every
// split of the tensor draws the same bits.

#include <array>
#include <cstdint>
#include <string_view>

namespace partita {

using PhiloxBlock = std::array<uint32_t, 4>;

/// Returns the four words of one counter: ten rounds of Philox4x32.
PhiloxBlock philox(PhiloxBlock counter, uint64_t key);

/// Returns the 32-bit word of element `element` at time `step`.
uint32_t random_word(uint64_t key, uint64_t element, uint64_t step);

/// Returns four words at once: those of elements 4 * block .. 4 * block + 3.
PhiloxBlock random_block(uint64_t key, uint64_t block, uint64_t step);

/// Returns a number in the open interval (0, 1), made from the upper 24 bits.
double uniform_of(uint32_t word);

/// Returns a standard normal number. Elements 2j and 2j + 1 share one Box-Muller pair.
double random_normal(uint64_t key, uint64_t element, uint64_t step);

/// Returns a standard normal number truncated to [-2, 2], by the inverse distribution (no rejection).
double random_truncated_normal(uint64_t key, uint64_t element, uint64_t step);

/// Returns the key of a named stream of numbers: a 64-bit mix of the seed and the scoped name.
uint64_t random_key(uint64_t seed, std::string_view scoped_name);

/// Returns a uniform integer in [0, bound), made from two words. Its bias is below 2^-32 for bound < 2^32.
uint64_t random_below(uint64_t key, uint64_t element, uint64_t step, uint64_t bound);

}  // namespace partita
