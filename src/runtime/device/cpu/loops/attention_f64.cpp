// Attention of f64 with the matrix products of gemm.h.

#include "runtime/device/cpu/loops/attention.h"
#include "runtime/device/cpu/loops/gemm.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kAttentionF64 = "loops.attention";

class Dgemm {
 public:
  explicit Dgemm(void* scratch) : scratch_(static_cast<double*>(scratch)) {}

  /// Bytes of scratch memory: enough for the largest product.
  static int64_t scratch_bytes(const AttentionSizes& sizes) {
    const int64_t most = std::max({sizes.queries, sizes.keys, sizes.width, sizes.value_width});
    return gemm::Sizes{.rows = most, .columns = most, .inner = most}.scratch_bytes();
  }

  void operator()(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                  int64_t stride_a, const double* b, int64_t stride_b, bool add, double* c,
                  int64_t stride_c) const noexcept {
    gemm::multiply_alone(gemm::tiled(1, m, n, k, /*threads=*/1), scratch_,
                         {.a = {a, transpose_a ? 1 : stride_a, transpose_a ? stride_a : 1},
                          .b = {b, transpose_b ? 1 : stride_b, transpose_b ? stride_b : 1},
                          .y = c,
                          .row_size = stride_c,
                          .scale = alpha,
                          .add = add});
  }

 private:
  double* scratch_;
};

using DgemmAttention = AttentionKernel<double, Dgemm>;

KernelChoice propose_attention_f64(const KernelQuery& query) {
  if (query.inputs[0].dtype != DType::f64) return refuse("only f64");
  for (const auto* types : {&query.inputs, &query.outputs}) {
    for (const Type& type : *types) {
      if (type.elements() == 0) return refuse("empty");
    }
  }
  KernelChoice choice = propose_dense(kAttentionF64, query);
  choice.scratch_bytes = DgemmAttention::scratch_bytes(query);
  return choice;
}

std::unique_ptr<Kernel> make_attention_f64(const KernelQuery& query, const KernelChoice& choice) {
  auto fast = std::make_unique<DgemmAttention>(query, choice);
  // Keys that a query does not see have probability 0, and 0 times infinity or NaN would be NaN.
  if (!query.attrs.as<AttentionAttrs>().causal && !query.op.starts_with("attention_within")) return fast;
  std::vector<size_t> operands;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (is_float(query.inputs[i].dtype)) operands.push_back(i);
  }
  return unless_infinite(std::move(fast), query, std::move(operands));
}

}  // namespace

std::vector<KernelDef> attention_f64_kernels() {
  return {
      {kAttentionF64,
       {"attention", "attention_grad", "attention_max", "attention_sums", "attention_within", "attention_within_grad"},
       propose_attention_f64,
       make_attention_f64}};
}

}  // namespace partita
