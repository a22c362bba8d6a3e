#pragma once
// Attention and its gradient. Each thread takes one pair of batch row and head after another, and blocks of queries, so
// that the scores of a block stay in the cache. The backward pass recomputes probabilities from lse (Dao et al., 2022,
// "FlashAttention", without its split of the keys). The matrix product is a template parameter.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/first_error.h"
#include "base/vector_math.h"
#include "ir/ops/attention/attention.h"
#include "runtime/device/cpu/loops/attention_rows.h"
#include "runtime/device/cpu/loops/head_rows.h"
#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/kernel.h"

namespace partita {

/// `Product` is constructed with a thread's scratch memory, of Product::scratch_bytes(sizes) bytes. It computes
///   product(transpose_a, transpose_b, m, n, k, alpha, a, stride_a, b, stride_b, add, c, stride_c):
///   c[m, n] = alpha op(a) op(b), plus c if `add`, all row-major with a stride between rows
/// in a parallel loop. The first exception is rethrown after the loop. A product of floats may also have
///   product.multiply_halves(m, n, k, alpha, a, stride_a, b, stride_b, c): c[m, n] = alpha a b^T, a and b of bf16,
/// if Product::multiplies_halves(). Tensors of 16 bits are widened and rounded head
/// by head; `has_halves` says whether there are any.
template <class T, class Product>
class Attention {
 public:
  Attention(const AttentionAttrs& attrs, const AttentionSizes& sizes, int64_t blocks, bool has_halves)
      : attrs_(attrs), sizes_(sizes), blocks_(blocks), has_halves_(has_halves) {}

  const AttentionSizes& sizes() const { return sizes_; }
  /// Bytes of scratch memory per thread.
  int64_t scratch_bytes() const {
    return whole_lines(Product::scratch_bytes(sizes_)) +
           whole_lines(blocks_ * (block_size() + rooms_size()) * static_cast<int64_t>(sizeof(T)));
  }
  void set_threads(int threads) { threads_ = threads; }

  struct Operands {
    HeadOperand<T> q, k, v;
    HeadOperand<T> y = {}, d_y = {};  // for the gradient
    const T* lse = nullptr;
    const int32_t *first = nullptr, *last = nullptr;  // the keys that each query sees; null: the attributes say so
  };
  struct Results {
    HeadResult<T> y;
    T* lse;
  };
  struct Sums {
    const T* largest;
    HeadResult<T> weighted;
    T* sums;
  };
  struct Gradients {
    HeadResult<T> q, k, v;
  };

  void forward(const Operands& in, const Results& out, void* scratch) const {
    for_heads(1, scratch, [&](int64_t pair, const Product& product, const Room& room) {
      forward_head(pair, in, out, product, room);
    });
  }
  /// Computes a part of attention with sharded keys: each query's largest score among the keys of this shard, the
  /// lowest number if it sees none. Throws what `Product` throws.
  void largest(const Operands& in, T* out, void* scratch) const {
    for_heads(1, scratch, [&](int64_t pair, const Product& product, const Room& room) {
      largest_of_head(pair, in, out, product, room);
    });
  }
  /// Computes a part of attention with sharded keys: for each query, the sum of exp(score - largest score of all
  /// shards) over the keys of this shard that it sees, and the sum of the values weighted by that; 0 if it sees none.
  /// Throws what `Product` throws.
  void sums(const Operands& in, const Sums& out, void* scratch) const {
    for_heads(1, scratch, [&](int64_t pair, const Product& product, const Room& room) {
      sums_of_head(pair, in, out, product, room);
    });
  }
  void backward(const Operands& in, const Gradients& d, void* scratch) const {
    for_heads(sizes_.group(), scratch, [&](int64_t pair, const Product& product, const Room& room) {
      const AttentionHead first = sizes_.head(pair);
      T* room_v = multiplies_halves(in.d_y, in.v) ? nullptr : room.operands.v;
      const Keys keys{in.k.read(first.k, sizes_.keys, room.operands.k), in.v.read(first.v, sizes_.keys, room_v)};
      d.k.clear(first.k, sizes_.keys, room.gradients.k);
      d.v.clear(first.v, sizes_.keys, room.gradients.v);
      for (int64_t i = 0; i < sizes_.group(); ++i) backward_head(pair + i, in, keys, d, product, room);
      d.k.store(first.k, sizes_.keys, room.gradients.k);
      d.v.store(first.v, sizes_.keys, room.gradients.v);
    });
  }

 private:
  static constexpr int64_t kBlock = 128;  // queries per block

  /// Scratch memory of a thread.
  struct Room {
    T *scores, *d_scores;  // of a block of queries against all keys; `d_scores` for the gradient
    HeadRooms<T> operands, gradients;
  };
  /// Keys and values of a head.
  struct Keys {
    HeadRows<const T> k, v;
  };

  static int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  /// Number of queries in a block.
  int64_t block_rows() const { return std::min(kBlock, sizes_.queries); }
  /// Number of scores of a block of queries against all keys.
  int64_t block_size() const { return block_rows() * sizes_.keys; }
  /// Number of elements in the rooms for q, k, v and y, or for d_q, d_k, d_v and d_y; 0 without 16-bit floats.
  int64_t rooms_size() const {
    return has_halves_ ? (block_rows() + sizes_.keys) * (sizes_.width + sizes_.value_width) : 0;
  }

  Room room_at(T* begin) const {
    Room room{.scores = begin, .d_scores = begin + block_size()};
    if (!has_halves_) return room;
    T* rooms = begin + blocks_ * block_size();
    for (HeadRooms<T>* one : {&room.operands, &room.gradients}) {
      rooms = one->place(rooms, block_rows(), sizes_.keys, sizes_.width, sizes_.value_width);
      if (blocks_ == 1) break;
    }
    return room;
  }

  /// Calls fn(pair, product, scratch memory of the thread) for the pairs of batch row and head with the numbers 0,
  /// `step`, 2 * `step` and so on, in parallel. Rethrows the first exception after all have ended.
  template <class Fn>
  void for_heads(int64_t step, void* scratch, const Fn& fn) const {
    const int64_t pairs = sizes_.batch * sizes_.heads;
    FirstError failure;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int64_t pair = 0; pair < pairs; pair += step) {
      std::byte* own = static_cast<std::byte*>(scratch) + omp_get_thread_num() * scratch_bytes();
      failure.run([&] {
        fn(pair, Product(own), room_at(reinterpret_cast<T*>(own + whole_lines(Product::scratch_bytes(sizes_)))));
      });
    }
    failure.rethrow();
  }

  SeenKeys seen_keys(const Operands& in) const { return SeenKeys(attrs_, sizes_, in.first, in.last); }

  /// Calls fn(first query, number of queries, their keys by `keys_of_block`) for all blocks of queries, in order.
  template <class Fn>
  void for_blocks(const SeenKeys& seen, int64_t pair, const Fn& fn) const {
    for (int64_t first = 0; first < sizes_.queries; first += kBlock) {
      const int64_t count = std::min(kBlock, sizes_.queries - first);
      fn(first, count, keys_of_block(seen, pair / sizes_.heads, first, count));
    }
  }
  /// Returns the keys that query `i` sees as places in the scores of `keys`.
  KeyRange place_in(const KeyRange& keys, const SeenKeys& seen, int64_t pair, int64_t i) const {
    const KeyRange own = seen.of(pair / sizes_.heads, i);
    return own.count() <= 0 ? KeyRange{} : KeyRange{own.begin - keys.begin, own.end - keys.begin};
  }
  /// Whether `multiply_rows` reads rows of both operands as they are stored, not widened.
  static bool multiplies_halves(const HeadOperand<T>& a, const HeadOperand<T>& b) {
    if constexpr (std::is_same_v<T, float>) {
      return a.dtype() == DType::bf16 && b.dtype() == DType::bf16 && Product::multiplies_halves();
    }
    return false;
  }
  /// Computes c[m, n] = alpha a b^T for `m` rows of a and `n` rows of b. Throws what `product` throws.
  static void multiply_rows(const Product& product, int64_t m, int64_t n, int64_t width, T alpha,
                            const HeadRows<const T>& a, const HeadRows<const T>& b, T* c) {
    if constexpr (std::is_same_v<T, float>) {
      if (a.halves != nullptr && b.halves != nullptr && Product::multiplies_halves()) {
        return product.multiply_halves(m, n, width, alpha, a.halves, a.halves_stride, b.halves, b.halves_stride, c);
      }
    }
    product(false, true, m, n, width, alpha, a.data, a.stride, b.data, b.stride, false, c, n);
  }

  /// Computes y = p v, sums of values, for a block of queries. Throws what `product` throws.
  void sum_values(const Product& product, int64_t count, int64_t keys, const T* p, const HeadRows<const T>& v,
                  const HeadRows<T>& y) const {
    product(false, false, count, sizes_.value_width, keys, T{1}, p, keys, v.data, v.stride, false, y.data, y.stride);
  }

  /// Returns the keys of a head, widened unless `score` reads them as they are stored.
  HeadRows<const T> keys_to_score(const AttentionHead& at, int64_t keys, const Operands& in, const Room& room) const {
    return in.k.read(at.k, keys, multiplies_halves(in.q, in.k) ? nullptr : room.operands.k);
  }
  /// Computes the scaled scores of `count` queries from `first` on against some keys: [count, keys]. Throws what
  /// `product` throws.
  void score(const AttentionHead& at, const Operands& in, const HeadRows<const T>& k, const Product& product,
             int64_t first, int64_t count, const KeyRange& keys, const Room& room) const {
    T* room_q = multiplies_halves(in.q, in.k) ? nullptr : room.operands.q;
    const HeadRows<const T> q = in.q.read(at.q + first * sizes_.q_row(), count, room_q);
    multiply_rows(product, count, keys.count(), sizes_.width, static_cast<T>(sizes_.scale(attrs_)), q,
                  rows_from(k, keys.begin), room.scores);
  }

  void forward_head(int64_t pair, const Operands& in, const Results& out, const Product& product,
                    const Room& room) const {
    const AttentionHead at = sizes_.head(pair);
    const SeenKeys seen = seen_keys(in);
    const int64_t end = keys_of_block(seen, pair / sizes_.heads, 0, sizes_.queries).end;
    const HeadRows<const T> k = keys_to_score(at, end, in, room);
    const HeadRows<const T> v = in.v.read(at.v, end, room.operands.v);
    for_blocks(seen, pair, [&](int64_t first, int64_t count, const KeyRange& keys) {
      const int64_t y = at.y + first * sizes_.y_row();
      if (keys.count() == 0) {
        std::fill_n(out.lse + at.lse + first, count, T{});
        out.y.clear(y, count, room.operands.y);
        return out.y.store(y, count, room.operands.y);
      }
      score(at, in, k, product, first, count, keys, room);
      for (int64_t i = 0; i < count; ++i) {
        const KeyRange own = place_in(keys, seen, pair, first + i);
        out.lse[at.lse + first + i] = softmax_row(room.scores + i * keys.count(), own, keys.count());
      }
      sum_values(product, count, keys.count(), room.scores, rows_from(v, keys.begin), out.y.place(y, room.operands.y));
      out.y.store(y, count, room.operands.y);
    });
  }

  void largest_of_head(int64_t pair, const Operands& in, T* out, const Product& product, const Room& room) const {
    const AttentionHead at = sizes_.head(pair);
    const SeenKeys seen = seen_keys(in);
    const HeadRows<const T> k = keys_to_score(at, sizes_.keys, in, room);
    for_blocks(seen, pair, [&](int64_t first, int64_t count, const KeyRange& keys) {
      if (keys.count() > 0) score(at, in, k, product, first, count, keys, room);
      for (int64_t i = 0; i < count; ++i) {
        const KeyRange own = place_in(keys, seen, pair, first + i);
        const T* row = room.scores + i * keys.count();
        T largest = std::numeric_limits<T>::lowest();
#pragma omp simd reduction(max : largest)
        for (int64_t j = own.begin; j < own.end; ++j) largest = larger(row[j], largest);
        out[at.lse + first + i] = largest;
      }
    });
  }

  void sums_of_head(int64_t pair, const Operands& in, const Sums& out, const Product& product, const Room& room) const {
    const AttentionHead at = sizes_.head(pair);
    const SeenKeys seen = seen_keys(in);
    const HeadRows<const T> k = keys_to_score(at, sizes_.keys, in, room);
    const HeadRows<const T> v = in.v.read(at.v, sizes_.keys, room.operands.v);
    for_blocks(seen, pair, [&](int64_t first, int64_t count, const KeyRange& keys) {
      if (keys.count() > 0) score(at, in, k, product, first, count, keys, room);
      for (int64_t i = 0; i < count; ++i) {
        const KeyRange own = place_in(keys, seen, pair, first + i);
        const T largest = out.largest[at.lse + first + i];
        T *row = room.scores + i * keys.count(), sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = own.begin; j < own.end; ++j) {
          row[j] = exp_of(row[j] - largest);
          sum += row[j];
        }
        clear_others(row, own, keys.count());
        out.sums[at.lse + first + i] = sum;
      }
      const int64_t y = at.y + first * sizes_.y_row();
      if (keys.count() == 0) {
        out.weighted.clear(y, count, room.operands.y);
      } else {
        sum_values(product, count, keys.count(), room.scores, rows_from(v, keys.begin),
                   out.weighted.place(y, room.operands.y));
      }
      out.weighted.store(y, count, room.operands.y);
    });
  }

  /// Computes d_q of a head and adds to d_k and d_v, which several heads of q may share. Throws what `product` throws.
  void backward_head(int64_t pair, const Operands& in, const Keys& of, const Gradients& d, const Product& product,
                     const Room& room) const {
    const AttentionHead at = sizes_.head(pair);
    const SeenKeys seen = seen_keys(in);
    T *p = room.scores, *d_scores = room.d_scores;
    const auto scale = static_cast<T>(sizes_.scale(attrs_));
    const HeadRows<T> d_k = d.k.place(at.k, room.gradients.k), d_v = d.v.place(at.v, room.gradients.v);
    for_blocks(seen, pair, [&](int64_t first, int64_t count, const KeyRange& range) {
      const int64_t keys = range.count();
      const int64_t q_at = at.q + first * sizes_.q_row(), y_at = at.y + first * sizes_.y_row();
      if (keys == 0) {
        d.q.clear(q_at, count, room.gradients.q);
        return d.q.store(q_at, count, room.gradients.q);
      }
      const HeadRows<const T> q = in.q.read(q_at, count, room.operands.q);
      const HeadRows<const T> y = in.y.read(y_at, count, room.operands.y);
      const HeadRows<const T> d_y = in.d_y.read(y_at, count, room.gradients.y);
      const Keys own{rows_from(of.k, range.begin), rows_from(of.v, range.begin)};
      const HeadRows<T> d_own_k = rows_from(d_k, range.begin), d_own_v = rows_from(d_v, range.begin);
      multiply_rows(product, count, keys, sizes_.width, scale, q, own.k, p);
      multiply_rows(product, count, keys, sizes_.value_width, T{1}, d_y, own.v, d_scores);
      for (int64_t i = 0; i < count; ++i) {
        const T *d_y_row = d_y.row(i), *y_row = y.row(i);
        T shared = 0;
#pragma omp simd reduction(+ : shared)
        for (int64_t e = 0; e < sizes_.value_width; ++e) shared += d_y_row[e] * y_row[e];
        differentiate_row(p + i * keys, d_scores + i * keys, place_in(range, seen, pair, first + i), keys,
                          in.lse[at.lse + first + i], shared);
      }
      const HeadRows<T> d_q = d.q.place(q_at, room.gradients.q);
      product(false, false, count, sizes_.width, keys, scale, d_scores, keys, own.k.data, own.k.stride, false, d_q.data,
              d_q.stride);
      d.q.store(q_at, count, room.gradients.q);
      product(true, false, keys, sizes_.width, count, scale, d_scores, keys, q.data, q.stride, true, d_own_k.data,
              d_own_k.stride);
      product(true, false, keys, sizes_.value_width, count, T{1}, p, keys, d_y.data, d_y.stride, true, d_own_v.data,
              d_own_v.stride);
    });
  }

  AttentionAttrs attrs_;
  AttentionSizes sizes_;
  int64_t blocks_;  // blocks of scores per thread: 2 for the gradient, else 1
  bool has_halves_;
  int threads_ = 1;
};

/// A kernel for attention, its gradient, and the parts of its expansion that compute scores.
template <class T, class Product>
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const KernelQuery& query, const KernelChoice& choice)
      : attention_(describe(query)), op_(query.op), in_(dtypes_of(query.inputs)), out_(dtypes_of(query.outputs)) {
    const int64_t own = attention_.scratch_bytes();
    PARTITA_CHECK(own <= choice.scratch_bytes, "{} bytes of scratch, {} were asked for", own, choice.scratch_bytes);
    attention_.set_threads(static_cast<int>(std::min<int64_t>(choice.scratch_bytes / own, omp_get_max_threads())));
  }

  static int64_t scratch_bytes(const KernelQuery& query) {
    return omp_get_max_threads() * describe(query).scratch_bytes();
  }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const AttentionSizes& sizes = attention_.sizes();
    const auto q = [&](size_t i) { return HeadOperand<T>(inputs[i], in_[i], sizes.q_row(), sizes.width); };
    const auto k = [&](size_t i) { return HeadOperand<T>(inputs[i], in_[i], sizes.k_row(), sizes.width); };
    const auto v = [&](size_t i) { return HeadOperand<T>(inputs[i], in_[i], sizes.v_row(), sizes.value_width); };
    const auto y = [&](size_t i) { return HeadOperand<T>(inputs[i], in_[i], sizes.y_row(), sizes.value_width); };
    const auto result = [&](size_t i, int64_t row, int64_t width) {
      return HeadResult<T>(outputs[i], out_[i], row, width);
    };
    const auto in = [&](size_t i) { return static_cast<const T*>(inputs[i]); };
    const auto out = [&](size_t i) { return static_cast<T*>(outputs[i]); };
    const auto bound = [&](size_t i) { return static_cast<const int32_t*>(inputs[i]); };
    if (op_ == "attention_grad" || op_ == "attention_within_grad") {
      const bool within = op_ == "attention_within_grad";
      attention_.backward(
          {q(0), k(1), v(2), y(3), y(5), in(4), within ? bound(6) : nullptr, within ? bound(7) : nullptr},
          {result(0, sizes.q_row(), sizes.width), result(1, sizes.k_row(), sizes.width),
           result(2, sizes.v_row(), sizes.value_width)},
          scratch);
    } else if (op_ == "attention_max") {
      attention_.largest({q(0), k(1), {}}, out(0), scratch);
    } else if (op_ == "attention_sums") {
      attention_.sums({q(0), k(1), v(2)}, {in(3), result(0, sizes.y_row(), sizes.value_width), out(1)}, scratch);
    } else {
      const bool within = op_ == "attention_within";
      attention_.forward(
          {.q = q(0), .k = k(1), .v = v(2), .first = within ? bound(3) : nullptr, .last = within ? bound(4) : nullptr},
          {result(0, sizes.y_row(), sizes.value_width), out(1)}, scratch);
    }
  }

 private:
  static Attention<T, Product> describe(const KernelQuery& query) {
    const auto& attrs = query.attrs.as<AttentionAttrs>();
    const Type& v = query.inputs[query.op == "attention_max" ? 1 : 2];
    return {attrs, attention_sizes(attrs, query.inputs[0], query.inputs[1], v), query.op.ends_with("_grad") ? 2 : 1,
            has_halves(query)};
  }

  static std::vector<DType> dtypes_of(const std::vector<Type>& types) {
    std::vector<DType> dtypes;
    for (const Type& type : types) dtypes.push_back(type.dtype);
    return dtypes;
  }

  Attention<T, Product> attention_;
  const std::string op_;
  const std::vector<DType> in_, out_;
};

}  // namespace partita
