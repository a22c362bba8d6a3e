// Attention in f32 with matrix products of oneDNN. Operands and results may have 16 bits.

#include "runtime/device/cpu/loops/attention.h"

#include <dnnl.h>

#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/cpu/onednn/engine.h"

// oneDNN exports this product of bf16 with sums in f32, but declares it in none of its headers. A build of the library
// may lack it.
extern "C" __attribute__((weak)) dnnl_status_t dnnl_gemm_bf16bf16f32(char transpose_a, char transpose_b, dnnl_dim_t m,
                                                                     dnnl_dim_t n, dnnl_dim_t k, float alpha,
                                                                     const uint16_t* a, dnnl_dim_t stride_a,
                                                                     const uint16_t* b, dnnl_dim_t stride_b, float beta,
                                                                     float* c, dnnl_dim_t stride_c);

namespace partita {
namespace {

constexpr auto kAttentionOnednn = "onednn.attention";

/// The matrix products of AttentionKernel. Throws RuntimeFailure(out_of_memory) without memory for copies of the
/// matrices.
struct Sgemm {
  explicit Sgemm(void*) {}
  static int64_t scratch_bytes(const AttentionSizes&) { return 0; }

  void operator()(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                  int64_t stride_a, const float* b, int64_t stride_b, bool add, float* c, int64_t stride_c) const {
    const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha, a,
                                            stride_a, b, stride_b, add ? 1.0F : 0.0F, c, stride_c);
    if (status != dnnl_success) throw_onednn(status, "could not multiply matrices");
  }

  static bool multiplies_halves() { return dnnl_gemm_bf16bf16f32 != nullptr && multiplies_bf16(); }
  void multiply_halves(int64_t m, int64_t n, int64_t k, float alpha, const bf16* a, int64_t stride_a, const bf16* b,
                       int64_t stride_b, float* c) const {
    const dnnl_status_t status =
        dnnl_gemm_bf16bf16f32('N', 'T', m, n, k, alpha, &a->bits, stride_a, &b->bits, stride_b, 0.0F, c, n);
    if (status != dnnl_success) throw_onednn(status, "could not multiply matrices of 16 bits");
  }
};

using SgemmAttention = AttentionKernel<float, Sgemm>;

void widen(Type& type) {
  if (is_half(type.dtype)) type.dtype = DType::f32;
}

/// Operands and results that may have 16 bits: all but lse and the sums of scores.
HalfValues halves_of_attention(const std::string& op) {
  if (op.ends_with("_grad")) return {.operands = {0, 1, 2, 3, 5}, .results = {0, 1, 2}};
  if (op == "attention_max") return {.operands = {0, 1}, .results = {}};
  return {.operands = {0, 1, 2}, .results = {0}};
}

KernelChoice propose_attention_onednn(const KernelQuery& query) {
  const HalfValues halves = halves_of_attention(query.op);
  KernelQuery wide = query;
  std::erase_if(wide.inputs, [](const Type& type) { return type.dtype == DType::i32; });  // the keys that are seen
  for (const size_t i : halves.operands) widen(wide.inputs[i]);
  for (const size_t k : halves.results) widen(wide.outputs[k]);
  if (std::string reason = unsupported_by_onednn(wide); !reason.empty()) return refuse(reason);
  return {.kernel = kAttentionOnednn,
          .inputs = std::vector<MemoryFormat>(query.inputs.size()),
          .outputs = std::vector<MemoryFormat>(query.outputs.size()),
          .scratch_bytes = SgemmAttention::scratch_bytes(query)};
}

std::unique_ptr<Kernel> make_attention_onednn(const KernelQuery& query, const KernelChoice& choice) {
  return std::make_unique<SgemmAttention>(query, choice);
}

}  // namespace

std::vector<KernelDef> attention_kernels() {
  return {
      {kAttentionOnednn,
       {"attention", "attention_grad", "attention_max", "attention_sums", "attention_within", "attention_within_grad"},
       propose_attention_onednn,
       make_attention_onednn,
       /*mixes_halves=*/true}};
}

}  // namespace partita
