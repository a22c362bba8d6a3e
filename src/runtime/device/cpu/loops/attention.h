#pragma once
// Attention and its gradient. Each thread takes one pair of batch row and head after another, and blocks of queries, so
// that the scores of a block stay in the cache. The backward pass recomputes probabilities from lse (Dao et al., 2022,
// "FlashAttention", without its split of the keys). The matrix product is a template parameter.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/first_error.h"
#include "base/vector_math.h"
#include "ir/ops/attention/attention.h"
#include "runtime/device/kernel.h"

namespace partita {

/// `Product` is constructed with a thread's scratch memory, of Product::scratch_bytes(sizes) bytes. It computes
///   product(transpose_a, transpose_b, m, n, k, alpha, a, stride_a, b, stride_b, add, c, stride_c):
///   c[m, n] = alpha op(a) op(b), plus c if `add`, all row-major with a stride between rows
/// in a parallel loop. The first exception is rethrown after the loop.
template <class T, class Product>
class Attention {
 public:
  Attention(const AttentionAttrs& attrs, const AttentionSizes& sizes, int64_t blocks)
      : attrs_(attrs), sizes_(sizes), blocks_(blocks) {}

  /// Bytes of scratch memory per thread.
  int64_t scratch_bytes() const {
    return whole_lines(Product::scratch_bytes(sizes_)) +
           whole_lines(blocks_ * block_size() * static_cast<int64_t>(sizeof(T)));
  }
  void set_threads(int threads) { threads_ = threads; }

  struct Operands {
    const T *q, *k, *v;
    const T *y = nullptr, *lse = nullptr, *d_y = nullptr;  // for the gradient
  };
  struct Results {
    T *y, *lse;
  };
  struct Sums {
    const T* largest;
    T *weighted, *sums;
  };
  struct Gradients {
    T *q, *k, *v;
  };

  void forward(const Operands& in, const Results& out, void* scratch) const {
    for_heads(1, scratch, [&](int64_t pair, const Product& product, T* scores) {
      forward_head(sizes_.head(pair), in, out, product, scores);
    });
  }
  /// Computes a part of attention with sharded keys: each query's largest score among the keys of this shard, the
  /// lowest number if it sees none. Throws what `Product` throws.
  void largest(const Operands& in, T* out, void* scratch) const {
    for_heads(1, scratch, [&](int64_t pair, const Product& product, T* scores) {
      largest_of_head(sizes_.head(pair), in, out, product, scores);
    });
  }
  /// Computes a part of attention with sharded keys: for each query, the sum of exp(score - largest score of all
  /// shards) over the keys of this shard that it sees, and the sum of the values weighted by that; 0 if it sees none.
  /// Throws what `Product` throws.
  void sums(const Operands& in, const Sums& out, void* scratch) const {
    for_heads(1, scratch, [&](int64_t pair, const Product& product, T* scores) {
      sums_of_head(sizes_.head(pair), in, out, product, scores);
    });
  }
  void backward(const Operands& in, const Gradients& d, void* scratch) const {
    for_heads(sizes_.group(), scratch, [&](int64_t pair, const Product& product, T* scores) {
      clear_gradients(sizes_.head(pair), d);
      for (int64_t i = 0; i < sizes_.group(); ++i) backward_head(sizes_.head(pair + i), in, d, product, scores);
    });
  }

 private:
  static constexpr int64_t kBlock = 128;  // queries per block

  static int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  /// Number of scores of a block of queries against all keys.
  int64_t block_size() const { return std::min(kBlock, sizes_.queries) * sizes_.keys; }

  /// Calls fn(pair, product, scratch for blocks of scores) for the pairs of batch row and head with the numbers 0,
  /// `step`, 2 * `step` and so on, in parallel. Rethrows the first exception after all have ended.
  template <class Fn>
  void for_heads(int64_t step, void* scratch, const Fn& fn) const {
    const int64_t pairs = sizes_.batch * sizes_.heads;
    FirstError failure;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t pair = 0; pair < pairs; pair += step) {
      std::byte* own = static_cast<std::byte*>(scratch) + omp_get_thread_num() * scratch_bytes();
      failure.run(
          [&] { fn(pair, Product(own), reinterpret_cast<T*>(own + whole_lines(Product::scratch_bytes(sizes_)))); });
    }
    failure.rethrow();
  }

  /// Calls fn(first query, number of queries, keys that the last of them sees) for all blocks of queries, in order.
  template <class Fn>
  void for_blocks(const Fn& fn) const {
    for (int64_t first = 0; first < sizes_.queries; first += kBlock) {
      const int64_t count = std::min(kBlock, sizes_.queries - first);
      fn(first, count, sizes_.seen(attrs_, first + count - 1));
    }
  }

  void forward_head(const AttentionHead& at, const Operands& in, const Results& out, const Product& product,
                    T* scores) const {
    const int64_t v_row = sizes_.v_row(), y_row = sizes_.y_row();
    for_blocks([&](int64_t first, int64_t count, int64_t keys) {
      score(at, in, product, first, count, keys, scores);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t seen = sizes_.seen(attrs_, first + i);
        out.lse[at.lse + first + i] = softmax_row(scores + i * keys, seen, keys);
      }
      product(false, false, count, sizes_.value_width, keys, T{1}, scores, keys, in.v + at.v, v_row, false,
              out.y + at.y + first * y_row, y_row);
    });
  }

  /// Computes the scaled scores of `count` queries from `first` on against the first `keys` keys: [count, keys]. Throws
  /// what `product` throws.
  void score(const AttentionHead& at, const Operands& in, const Product& product, int64_t first, int64_t count,
             int64_t keys, T* scores) const {
    product(false, true, count, keys, sizes_.width, static_cast<T>(sizes_.scale(attrs_)),
            in.q + at.q + first * sizes_.q_row(), sizes_.q_row(), in.k + at.k, sizes_.k_row(), false, scores, keys);
  }

  void largest_of_head(const AttentionHead& at, const Operands& in, T* out, const Product& product, T* scores) const {
    for_blocks([&](int64_t first, int64_t count, int64_t keys) {
      if (keys > 0) score(at, in, product, first, count, keys, scores);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t seen = sizes_.seen(attrs_, first + i);
        T largest = std::numeric_limits<T>::lowest();
#pragma omp simd reduction(max : largest)
        for (int64_t j = 0; j < seen; ++j) largest = std::max(largest, scores[i * keys + j]);
        out[at.lse + first + i] = largest;
      }
    });
  }

  void sums_of_head(const AttentionHead& at, const Operands& in, const Sums& out, const Product& product,
                    T* scores) const {
    const int64_t v_row = sizes_.v_row(), y_row = sizes_.y_row();
    for_blocks([&](int64_t first, int64_t count, int64_t keys) {
      T* weighted = out.weighted + at.y + first * y_row;
      if (keys > 0) score(at, in, product, first, count, keys, scores);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t seen = sizes_.seen(attrs_, first + i);
        const T largest = out.largest[at.lse + first + i];
        T *row = scores + i * keys, sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < seen; ++j) {
          row[j] = exp_of(row[j] - largest);
          sum += row[j];
        }
        std::fill(row + seen, row + keys, T{});
        out.sums[at.lse + first + i] = sum;
        if (keys == 0) std::fill_n(weighted + i * y_row, sizes_.value_width, T{});
      }
      if (keys == 0) return;
      product(false, false, count, sizes_.value_width, keys, T{1}, scores, keys, in.v + at.v, v_row, false, weighted,
              y_row);
    });
  }

  /// Computes the softmax of the first `seen` scores, at least one, in place, and sets the rest up to `keys` to 0.
  /// Returns lse, the logarithm of the sum of their exponentials.
  static T softmax_row(T* scores, int64_t seen, int64_t keys) {
    T largest = scores[0];
#pragma omp simd reduction(max : largest)
    for (int64_t j = 1; j < seen; ++j) largest = std::max(largest, scores[j]);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < seen; ++j) {
      scores[j] = exp_of(scores[j] - largest);
      sum += scores[j];
    }
    const T share = 1 / sum;
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) scores[j] *= share;
    std::fill(scores + seen, scores + keys, T{});
    return largest + std::log(sum);
  }

  void clear_gradients(const AttentionHead& at, const Gradients& d) const {
    for (int64_t j = 0; j < sizes_.keys; ++j) {
      std::fill_n(d.k + at.k + j * sizes_.k_row(), sizes_.width, T{});
      std::fill_n(d.v + at.v + j * sizes_.v_row(), sizes_.value_width, T{});
    }
  }

  /// Computes d_q of a head and adds to d_k and d_v, which several heads of q may share. Throws what `product` throws.
  void backward_head(const AttentionHead& at, const Operands& in, const Gradients& d, const Product& product,
                     T* scratch) const {
    T *p = scratch, *d_scores = scratch + block_size();
    const auto scale = static_cast<T>(sizes_.scale(attrs_));
    const int64_t q_row = sizes_.q_row(), k_row = sizes_.k_row(), v_row = sizes_.v_row(), y_row = sizes_.y_row();
    for_blocks([&](int64_t first, int64_t count, int64_t keys) {
      if (keys == 0) {
        for (int64_t i = first; i < first + count; ++i) std::fill_n(d.q + at.q + i * q_row, sizes_.width, T{});
        return;
      }
      const T *q = in.q + at.q + first * q_row, *d_y = in.d_y + at.y + first * y_row;
      product(false, true, count, keys, sizes_.width, scale, q, q_row, in.k + at.k, k_row, false, p, keys);
      product(false, true, count, keys, sizes_.value_width, T{1}, d_y, y_row, in.v + at.v, v_row, false, d_scores,
              keys);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = at.y + (first + i) * y_row;
        T shared = 0;
#pragma omp simd reduction(+ : shared)
        for (int64_t e = 0; e < sizes_.value_width; ++e) shared += in.d_y[row + e] * in.y[row + e];
        differentiate_row(p + i * keys, d_scores + i * keys, sizes_.seen(attrs_, first + i), keys,
                          in.lse[at.lse + first + i], shared);
      }
      product(false, false, count, sizes_.width, keys, scale, d_scores, keys, in.k + at.k, k_row, false,
              d.q + at.q + first * q_row, q_row);
      product(true, false, keys, sizes_.width, count, scale, d_scores, keys, q, q_row, true, d.k + at.k, k_row);
      product(true, false, keys, sizes_.value_width, count, T{1}, p, keys, d_y, y_row, true, d.v + at.v, v_row);
    });
  }

  /// Turns scores into probabilities and d_p into d_scores, in place. Both are 0 for keys that are not seen. `shared`
  /// is the dot product of the query's d_y and y.
  static void differentiate_row(T* p, T* d_scores, int64_t seen, int64_t keys, T lse, T shared) {
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) {
      p[j] = exp_of(p[j] - lse);
      d_scores[j] = p[j] * (d_scores[j] - shared);
    }
    std::fill(p + seen, p + keys, T{});
    std::fill(d_scores + seen, d_scores + keys, T{});
  }

  AttentionAttrs attrs_;
  AttentionSizes sizes_;
  int64_t blocks_;
  int threads_ = 1;
};

/// A kernel for attention, its gradient, and the parts of its expansion that compute scores.
template <class T, class Product>
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const KernelQuery& query, const KernelChoice& choice) : attention_(describe(query)), op_(query.op) {
    const int64_t own = attention_.scratch_bytes();
    PARTITA_CHECK(own <= choice.scratch_bytes, "{} bytes of scratch, {} were asked for", own, choice.scratch_bytes);
    attention_.set_threads(static_cast<int>(std::min<int64_t>(choice.scratch_bytes / own, omp_get_max_threads())));
  }

  static int64_t scratch_bytes(const KernelQuery& query) {
    return omp_get_max_threads() * describe(query).scratch_bytes();
  }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto in = [&](size_t i) { return static_cast<const T*>(inputs[i]); };
    const auto out = [&](size_t i) { return static_cast<T*>(outputs[i]); };
    if (op_ == "attention_grad") {
      attention_.backward({in(0), in(1), in(2), in(3), in(4), in(5)}, {out(0), out(1), out(2)}, scratch);
    } else if (op_ == "attention_max") {
      attention_.largest({in(0), in(1), nullptr}, out(0), scratch);
    } else if (op_ == "attention_sums") {
      attention_.sums({in(0), in(1), in(2)}, {in(3), out(0), out(1)}, scratch);
    } else {
      attention_.forward({in(0), in(1), in(2)}, {out(0), out(1)}, scratch);
    }
  }

 private:
  static Attention<T, Product> describe(const KernelQuery& query) {
    const auto& attrs = query.attrs.as<AttentionAttrs>();
    const Type& v = query.inputs[query.op == "attention_max" ? 1 : 2];
    return {attrs, attention_sizes(attrs, query.inputs[0], query.inputs[1], v), query.op == "attention_grad" ? 2 : 1};
  }

  Attention<T, Product> attention_;
  const std::string op_;
};

}  // namespace partita
