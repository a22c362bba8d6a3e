#pragma once
// Rows of scores of attention: the keys that a block of queries sees, and softmax over those that each query sees.

#include <algorithm>
#include <cmath>

#include "base/vector_math.h"
#include "ir/ops/attention/attention.h"
#include "runtime/device/cpu/loops/head_rows.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {

/// Returns the keys from the first to the last one that a query of [first, first + count) sees; none if there is
/// none.
inline KeyRange keys_of_block(const SeenKeys& seen, int64_t batch_row, int64_t first, int64_t count) {
  KeyRange all;
  for (int64_t i = first; i < first + count; ++i) {
    const KeyRange own = seen.of(batch_row, i);
    if (own.count() <= 0) continue;
    all = all.count() == 0 ? own : KeyRange{std::min(all.begin, own.begin), std::max(all.end, own.end)};
  }
  return all;
}

/// Returns rows from number `begin` on.
template <class E>
HeadRows<E> rows_from(HeadRows<E> rows, int64_t begin) {
  if (rows.data != nullptr) rows.data += begin * rows.stride;
  if (rows.halves != nullptr) rows.halves += begin * rows.halves_stride;
  return rows;
}

/// Sets the scores of keys outside `own` to 0.
template <class T>
void clear_others(T* scores, const KeyRange& own, int64_t keys) {
  std::fill(scores, scores + own.begin, T{});
  std::fill(scores + own.end, scores + keys, T{});
}

/// Computes the softmax of the scores of the keys `own`, in place, and sets the rest of `keys` to 0. Returns lse, the
/// logarithm of the sum of their exponentials, 0 without keys.
template <class T>
T softmax_row(T* scores, const KeyRange& own, int64_t keys) {
  clear_others(scores, own, keys);
  if (own.count() == 0) return T{};
  T largest = scores[own.begin];
#pragma omp simd reduction(max : largest)
  for (int64_t j = own.begin + 1; j < own.end; ++j) largest = larger(scores[j], largest);
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = own.begin; j < own.end; ++j) {
    scores[j] = exp_of(scores[j] - largest);
    sum += scores[j];
  }
  const T share = 1 / sum;
#pragma omp simd
  for (int64_t j = own.begin; j < own.end; ++j) scores[j] *= share;
  return largest + std::log(sum);
}

/// Turns scores into probabilities and d_p into d_scores, in place. Both are 0 for keys that are not seen. `shared`
/// is the dot product of the query's d_y and y.
template <class T>
void differentiate_row(T* p, T* d_scores, const KeyRange& own, int64_t keys, T lse, T shared) {
#pragma omp simd
  for (int64_t j = own.begin; j < own.end; ++j) {
    p[j] = exp_of(p[j] - lse);
    d_scores[j] = p[j] * (d_scores[j] - shared);
  }
  clear_others(p, own, keys);
  clear_others(d_scores, own, keys);
}

}  // namespace partita
