#include <cmath>

#include "ops/attention.h"

namespace partita {
namespace {

constexpr auto kAttentionGrad = "attention_grad";

std::vector<Type> infer_attention_grad(const OpCall& call) {
  require_operands(kAttentionGrad, call, 6);
  require_attention(kAttentionGrad, call);
  const Type &q = call.inputs[0], &v = call.inputs[2];
  const AttentionSizes sizes = attention_sizes(call.attrs.as<AttentionAttrs>(), q, call.inputs[1], v);
  const Type y{q.dtype, {q.shape[0], q.shape[1], v.shape[2]}}, lse = lse_type(sizes, q.dtype);
  if (call.inputs[3] != y || call.inputs[4] != lse || call.inputs[5] != y) {
    reject(kAttentionGrad, "operands do not fit q, k and v", print(call.inputs),
           fmt::format("y and d_y {}, lse {}", print(y), print(lse)));
  }
  return {q, call.inputs[1], v};
}

/// With p = exp(scores - lse): d_v = p^T d_y, d_scores = p (d_y v^T - sum of d_y y), d_q = scale d_scores k,
/// d_k = scale d_scores^T q.
template <class T>
void run_attention_grad(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[2].type);
  const int64_t q_row = sizes.heads * sizes.width, v_row = sizes.heads * sizes.value_width;
  const double scale = sizes.scale(attrs);
  std::vector<double> d_k(sizes.keys * sizes.width), d_v(sizes.keys * sizes.value_width), d_q(sizes.width);
  for (int64_t pair = 0; pair < sizes.batch * sizes.heads; ++pair) {
    const int64_t b = pair / sizes.heads, h = pair % sizes.heads;
    const int64_t at_q = b * sizes.queries * q_row + h * sizes.width, at_k = b * sizes.keys * q_row + h * sizes.width;
    const int64_t at_y = b * sizes.queries * v_row + h * sizes.value_width;
    const int64_t at_v = b * sizes.keys * v_row + h * sizes.value_width;
    const T *q = in[0].as<T>() + at_q, *k = in[1].as<T>() + at_k, *v = in[2].as<T>() + at_v;
    const T *y = in[3].as<T>() + at_y, *d_y = in[5].as<T>() + at_y;
    const auto* lse = in[4].as<Wide<T>>() + pair * sizes.queries;
    std::fill(d_k.begin(), d_k.end(), 0);
    std::fill(d_v.begin(), d_v.end(), 0);
    for (int64_t i = 0; i < sizes.queries; ++i) {
      std::fill(d_q.begin(), d_q.end(), 0);
      double shared = 0;
      for (int64_t e = 0; e < sizes.value_width; ++e) shared += double(d_y[i * v_row + e]) * double(y[i * v_row + e]);
      for (int64_t j = 0; j < sizes.seen(attrs, i); ++j) {
        double score = 0, d_p = 0;
        for (int64_t d = 0; d < sizes.width; ++d) score += double(q[i * q_row + d]) * double(k[j * q_row + d]);
        const double p = std::exp(score * scale - double(lse[i]));
        for (int64_t e = 0; e < sizes.value_width; ++e) {
          d_p += double(d_y[i * v_row + e]) * double(v[j * v_row + e]);
          d_v[j * sizes.value_width + e] += p * double(d_y[i * v_row + e]);
        }
        const double d_score = p * (d_p - shared) * scale;
        for (int64_t d = 0; d < sizes.width; ++d) {
          d_q[d] += d_score * double(k[j * q_row + d]);
          d_k[j * sizes.width + d] += d_score * double(q[i * q_row + d]);
        }
      }
      for (int64_t d = 0; d < sizes.width; ++d) out[0].as<T>()[at_q + i * q_row + d] = T(d_q[d]);
    }
    for (int64_t j = 0; j < sizes.keys; ++j) {
      for (int64_t d = 0; d < sizes.width; ++d) out[1].as<T>()[at_k + j * q_row + d] = T(d_k[j * sizes.width + d]);
      for (int64_t e = 0; e < sizes.value_width; ++e) {
        out[2].as<T>()[at_v + j * v_row + e] = T(d_v[j * sizes.value_width + e]);
      }
    }
  }
}

}  // namespace

OpDef attention_grad_op() {
  OpDef op;
  op.name = kAttentionGrad;
  op.summary = "d_q, d_k and d_v of attention from q, k, v, y, lse and d_y";
  op.attrs = Attrs(AttentionAttrs{});
  op.infer = infer_attention_grad;
  op.rule = [](const OpCall& call) {
    return attention_rule("bq(hd),bk(hd),bk(he),bq(he),bhq,bq(he)->bq(hd),bk(hd),bk(he)", call).linear_in({5});
  };
  op.localize = localize_attention;
  op.flops_per_point = 10;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype,
              [&](auto zero) { run_attention_grad<decltype(zero)>(attrs.as<AttentionAttrs>(), in, out); });
  };
  op.samples = {{{sample_of({2, 4, 6}), sample_of({2, 5, 6}), sample_of({2, 5, 4}), sample_of({2, 4, 4}),
                  sample_of({2, 2, 4}), sample_of({2, 4, 4})},
                 Attrs(AttentionAttrs{2})},
                {{sample_of({3, 4, 4}), sample_of({3, 4, 4}), sample_of({3, 4, 4}), sample_of({3, 4, 4}),
                  sample_of({3, 4, 4}), sample_of({3, 4, 4})},
                 Attrs(AttentionAttrs{4, true, 0.7})},
                {{sample_of({2, 4, 6}), sample_of({2, 7, 6}), sample_of({2, 7, 4}), sample_of({2, 4, 4}),
                  sample_of({2, 2, 4}), sample_of({2, 4, 4})},
                 Attrs(AttentionAttrs{2, true, 0, 2})}};
  return op;
}

}  // namespace partita
