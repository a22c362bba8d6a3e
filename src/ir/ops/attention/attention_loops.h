#pragma once
// Attention and its gradient as plain loops, for the reference kernels of ops that say in two ways which keys are seen.

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/attention/attention.h"

namespace partita {

/// Computes y and lse from q, k and v, the first operands. A query that sees no key has y = 0 and lse = 0.
template <class T>
void attend(const AttentionSizes& sizes, double scale, const SeenKeys& seen, Inputs in, Outputs out) {
  const int64_t q_row = sizes.q_row(), k_row = sizes.k_row(), v_row = sizes.v_row(), y_row = sizes.y_row();
  std::vector<double> scores(sizes.keys), sums(sizes.value_width);
  for (int64_t pair = 0; pair < sizes.batch * sizes.heads; ++pair) {
    const AttentionHead at = sizes.head(pair);
    const T *q = in[0].as<T>() + at.q, *k = in[1].as<T>() + at.k, *v = in[2].as<T>() + at.v;
    T* y = out[0].as<T>() + at.y;
    auto* lse = out[1].as<T>() + at.lse;
    for (int64_t i = 0; i < sizes.queries; ++i) {
      const KeyRange keys = seen.of(pair / sizes.heads, i);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t j = keys.begin; j < keys.end; ++j) {
        scores[j] = 0;
        for (int64_t d = 0; d < sizes.width; ++d) scores[j] += double(q[i * q_row + d]) * double(k[j * k_row + d]);
        scores[j] *= scale;
        largest = std::max(largest, scores[j]);
      }
      for (int64_t j = keys.begin; j < keys.end; ++j) sum += scores[j] = std::exp(scores[j] - largest);
      lse[i] = keys.count() > 0 ? static_cast<T>(largest + std::log(sum)) : T{};
      std::ranges::fill(sums, 0);
      for (int64_t j = keys.begin; j < keys.end; ++j) {
        for (int64_t e = 0; e < sizes.value_width; ++e) sums[e] += scores[j] / sum * double(v[j * v_row + e]);
      }
      for (int64_t e = 0; e < sizes.value_width; ++e) y[i * y_row + e] = T(sums[e]);
    }
  }
}

/// Computes d_q, d_k and d_v from q, k, v, y, lse and d_y, the first operands. With p = exp(scores - lse): d_v = p^T
/// d_y, d_scores = p (d_y v^T - sum of d_y y), d_q = scale d_scores k, d_k = scale d_scores^T q.
template <class T>
void attend_back(const AttentionSizes& sizes, double scale, const SeenKeys& seen, Inputs in, Outputs out) {
  const int64_t q_row = sizes.q_row(), k_row = sizes.k_row(), v_row = sizes.v_row(), y_row = sizes.y_row();
  std::vector<double> d_k(sizes.keys * sizes.width), d_v(sizes.keys * sizes.value_width), d_q(sizes.width);
  for (int64_t pair = 0; pair < sizes.batch * sizes.heads; ++pair) {
    const AttentionHead at = sizes.head(pair);
    const T *q = in[0].as<T>() + at.q, *k = in[1].as<T>() + at.k, *v = in[2].as<T>() + at.v;
    const T *y = in[3].as<T>() + at.y, *d_y = in[5].as<T>() + at.y;
    const auto* lse = in[4].as<T>() + at.lse;
    if (pair % sizes.group() == 0) {  // the first head with this k and v
      std::ranges::fill(d_k, 0);
      std::ranges::fill(d_v, 0);
    }
    for (int64_t i = 0; i < sizes.queries; ++i) {
      const KeyRange keys = seen.of(pair / sizes.heads, i);
      std::ranges::fill(d_q, 0);
      double shared = 0;
      for (int64_t e = 0; e < sizes.value_width; ++e) shared += double(d_y[i * y_row + e]) * double(y[i * y_row + e]);
      for (int64_t j = keys.begin; j < keys.end; ++j) {
        double score = 0, d_p = 0;
        for (int64_t d = 0; d < sizes.width; ++d) score += double(q[i * q_row + d]) * double(k[j * k_row + d]);
        const double p = std::exp(score * scale - double(lse[i]));
        for (int64_t e = 0; e < sizes.value_width; ++e) {
          d_p += double(d_y[i * y_row + e]) * double(v[j * v_row + e]);
          d_v[j * sizes.value_width + e] += p * double(d_y[i * y_row + e]);
        }
        const double d_score = p * (d_p - shared) * scale;
        for (int64_t d = 0; d < sizes.width; ++d) {
          d_q[d] += d_score * double(k[j * k_row + d]);
          d_k[j * sizes.width + d] += d_score * double(q[i * q_row + d]);
        }
      }
      for (int64_t d = 0; d < sizes.width; ++d) out[0].as<T>()[at.q + i * q_row + d] = T(d_q[d]);
    }
    if ((pair + 1) % sizes.group() != 0) continue;
    for (int64_t j = 0; j < sizes.keys; ++j) {
      for (int64_t d = 0; d < sizes.width; ++d) out[1].as<T>()[at.k + j * k_row + d] = T(d_k[j * sizes.width + d]);
      for (int64_t e = 0; e < sizes.value_width; ++e) {
        out[2].as<T>()[at.v + j * v_row + e] = T(d_v[j * sizes.value_width + e]);
      }
    }
  }
}

}  // namespace partita
