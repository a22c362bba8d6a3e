// Attention and its gradient: one pair of batch row and head after another on each thread, blocks of queries at
// a time, so that the scores of a block stay in the cache. Products are oneDNN's; probabilities of the backward
// pass are made again from lse (Dao et al., 2022, "FlashAttention", without its split of the keys).

#include "ops/attention.h"

#include <dnnl.h>
#include <omp.h>

#include <cmath>
#include <exception>

#include "device/cpu/loops/vector_math.h"
#include "device/cpu/onednn/engine.h"

namespace partita {
namespace {

constexpr auto kName = "onednn.attention";
constexpr int64_t kBlock = 128;  // queries at a time

/// c[m, n] = alpha op(a) op(b) + beta c, all row-major with a stride between rows. Throws when there is too little
/// memory for copies of the matrices.
void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
             int64_t stride_a, const float* b, int64_t stride_b, float beta, float* c, int64_t stride_c) {
  const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha, a, stride_a,
                                          b, stride_b, beta, c, stride_c);
  if (status != dnnl_success) throw_onednn(status, "could not multiply matrices");
}

/// Where the head of one batch row begins, in the tensors of queries, keys and values, and lse.
struct Head {
  int64_t q, k, v, y, lse;
};

struct Attention {
  AttentionAttrs attrs;
  AttentionSizes sizes;
  int threads;

  int64_t q_row() const { return sizes.heads * sizes.width; }
  int64_t v_row() const { return sizes.heads * sizes.value_width; }
  /// Scores of a block of queries against all keys.
  int64_t block_size() const { return std::min(kBlock, sizes.queries) * sizes.keys; }

  Head head(int64_t pair) const {
    const int64_t b = pair / sizes.heads, h = pair % sizes.heads;
    return {b * sizes.queries * q_row() + h * sizes.width, b * sizes.keys * q_row() + h * sizes.width,
            b * sizes.keys * v_row() + h * sizes.value_width, b * sizes.queries * v_row() + h * sizes.value_width,
            pair * sizes.queries};
  }

  /// fn(head, scratch of `blocks` blocks) for all pairs, in parallel. What one throws is thrown when all have ended.
  template <class Fn>
  void for_heads(void* scratch, int64_t blocks, const Fn& fn) const {
    const int64_t pairs = sizes.batch * sizes.heads;
    std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair) {
      try {
        fn(head(pair), static_cast<float*>(scratch) + omp_get_thread_num() * blocks * block_size());
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  /// fn(first query, queries, keys that the last of them sees) for all blocks.
  template <class Fn>
  void for_blocks(const Fn& fn) const {
    for (int64_t first = 0; first < sizes.queries; first += kBlock) {
      const int64_t count = std::min(kBlock, sizes.queries - first);
      fn(first, count, sizes.seen(attrs, first + count - 1));
    }
  }

  void forward(const Head& at, const float* q, const float* k, const float* v, float* y, float* lse,
               float* scores) const {
    for_blocks([&](int64_t first, int64_t count, int64_t keys) {
      product(false, true, count, keys, sizes.width, static_cast<float>(sizes.scale(attrs)), q + at.q + first * q_row(),
              q_row(), k + at.k, q_row(), 0, scores, keys);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t seen = sizes.seen(attrs, first + i);
        lse[at.lse + first + i] = softmax_row(scores + i * keys, seen, keys);
      }
      product(false, false, count, sizes.value_width, keys, 1, scores, keys, v + at.v, v_row(), 0,
              y + at.y + first * v_row(), v_row());
    });
  }

  /// Softmax of the first `seen` scores, 0 for the rest up to `keys`; returns lse.
  static float softmax_row(float* scores, int64_t seen, int64_t keys) {
    float largest = scores[0];
#pragma omp simd reduction(max : largest)
    for (int64_t j = 1; j < seen; ++j) largest = std::max(largest, scores[j]);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < seen; ++j) {
      scores[j] = exp_of(scores[j] - largest);
      sum += scores[j];
    }
    const float share = 1 / sum;
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) scores[j] *= share;
    std::fill(scores + seen, scores + keys, 0.0f);
    return largest + std::log(sum);
  }

  struct Operands {
    const float *q, *k, *v, *y, *lse, *d_y;
  };
  struct Gradients {
    float *q, *k, *v;
  };

  void backward(const Head& at, const Operands& in, const Gradients& d, float* scratch) const {
    float *p = scratch, *d_scores = scratch + block_size();
    const auto scale = static_cast<float>(sizes.scale(attrs));
    for (int64_t j = 0; j < sizes.keys; ++j) {
      std::fill_n(d.k + at.k + j * q_row(), sizes.width, 0.0f);
      std::fill_n(d.v + at.v + j * v_row(), sizes.value_width, 0.0f);
    }
    for_blocks([&](int64_t first, int64_t count, int64_t keys) {
      const float *q = in.q + at.q + first * q_row(), *d_y = in.d_y + at.y + first * v_row();
      product(false, true, count, keys, sizes.width, scale, q, q_row(), in.k + at.k, q_row(), 0, p, keys);
      product(false, true, count, keys, sizes.value_width, 1, d_y, v_row(), in.v + at.v, v_row(), 0, d_scores, keys);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = at.y + (first + i) * v_row();
        float shared = 0;
#pragma omp simd reduction(+ : shared)
        for (int64_t e = 0; e < sizes.value_width; ++e) shared += in.d_y[row + e] * in.y[row + e];
        differentiate_row(p + i * keys, d_scores + i * keys, sizes.seen(attrs, first + i), keys,
                          in.lse[at.lse + first + i], shared);
      }
      product(false, false, count, sizes.width, keys, scale, d_scores, keys, in.k + at.k, q_row(), 0,
              d.q + at.q + first * q_row(), q_row());
      product(true, false, keys, sizes.width, count, scale, d_scores, keys, q, q_row(), 1, d.k + at.k, q_row());
      product(true, false, keys, sizes.value_width, count, 1, p, keys, d_y, v_row(), 1, d.v + at.v, v_row());
    });
  }

  /// Scores become probabilities, d_p becomes d_scores; both 0 for keys that are not seen.
  static void differentiate_row(float* p, float* d_scores, int64_t seen, int64_t keys, float lse, float shared) {
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) {
      p[j] = exp_of(p[j] - lse);
      d_scores[j] = p[j] * (d_scores[j] - shared);
    }
    std::fill(p + seen, p + keys, 0.0f);
    std::fill(d_scores + seen, d_scores + keys, 0.0f);
  }
};

bool is_grad(const KernelQuery& query) { return query.op == "attention_grad"; }

/// Blocks of scores that a thread needs.
int64_t blocks_of(const KernelQuery& query) { return is_grad(query) ? 2 : 1; }

Attention attention_of(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<AttentionAttrs>();
  return {attrs, attention_sizes(attrs, query.inputs[0], query.inputs[1], query.inputs[2]), 1};
}

KernelChoice propose(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  const Attention attention = attention_of(query);
  return {.kernel = kName,
          .inputs = std::vector<Layout>(query.inputs.size()),
          .outputs = std::vector<Layout>(query.outputs.size()),
          .scratch_bytes =
              omp_get_max_threads() * blocks_of(query) * attention.block_size() * static_cast<int64_t>(sizeof(float))};
}

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(Attention attention, bool grad) : attention_(std::move(attention)), grad_(grad) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto in = [&](size_t i) { return static_cast<const float*>(inputs[i]); };
    const auto out = [&](size_t i) { return static_cast<float*>(outputs[i]); };
    if (!grad_) {
      attention_.for_heads(scratch, 1, [&](const Head& at, float* scores) {
        attention_.forward(at, in(0), in(1), in(2), out(0), out(1), scores);
      });
      return;
    }
    attention_.for_heads(scratch, 2, [&](const Head& at, float* scores) {
      attention_.backward(at, {in(0), in(1), in(2), in(3), in(4), in(5)}, {out(0), out(1), out(2)}, scores);
    });
  }

 private:
  Attention attention_;
  bool grad_;
};

std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) {
  Attention attention = attention_of(query);
  const int64_t per_thread = blocks_of(query) * attention.block_size() * static_cast<int64_t>(sizeof(float));
  attention.threads =
      static_cast<int>(std::clamp<int64_t>(choice.scratch_bytes / per_thread, 1, omp_get_max_threads()));
  return std::make_unique<AttentionKernel>(std::move(attention), is_grad(query));
}

}  // namespace

KernelDef attention_kernel() { return {kName, {"attention", "attention_grad"}, propose, make}; }

}  // namespace partita
