// Attention and its gradient as calls of cuDNN, in the form that XLA takes: a custom call whose configuration is JSON,
// the fields of XLA's message CudnnfMHABackendConfig. Operands are [batch, positions, heads, width]; results are
// [batch, heads, positions, width] in the memory order of the operands.

#include <algorithm>

#include "ir/ops/attention/attention.h"
#include "ir/ops/emission.h"

namespace partita {
namespace {

constexpr int64_t kMaxCudnnWidth = 256;  // widest heads, from Hopper on; before, 128

/// Operands of the gradient that have 16 bits: all but lse. Those of attention are the first three.
constexpr int64_t kCudnnHalves[] = {0, 1, 2, 3, 5};

std::string refusal_of_cudnn(const OpCall& call) {
  const auto& attrs = call.attrs.as<AttentionAttrs>();
  const std::vector<Type>& in = call.inputs;
  const AttentionSizes sizes = attention_sizes(attrs, in[0], in[1], in[2]);
  if (sizes.width != sizes.value_width) {
    return fmt::format("heads of width {} in q and {} in v", sizes.width, sizes.value_width);
  }
  if (sizes.width % 8 != 0 || sizes.width > kMaxCudnnWidth) return fmt::format("heads of width {}", sizes.width);
  if (attrs.causal && (attrs.begin != 0 || sizes.queries != sizes.keys)) {
    return fmt::format("{} queries from position {} on, which see some of {} keys", sizes.queries, attrs.begin,
                       sizes.keys);
  }
  if (sizes.queries % 2 != 0 || sizes.keys % 2 != 0) {  // JAX, whose calls these are, makes none of them in training
    return fmt::format("{} queries and {} keys", sizes.queries, sizes.keys);
  }
  if (sizes.scale(attrs) < 0) return fmt::format("the scale {}", sizes.scale(attrs));
  if (in[0].elements() == 0 || in[1].elements() == 0) return "no elements";
  for (const int64_t k : kCudnnHalves) {
    if (k >= std::ssize(in)) break;
    if (!is_half(in[k].dtype) || in[k].dtype != in[0].dtype) return fmt::format("operands of {}", name_of(in[k].dtype));
  }
  return "";
}

/// A product of the calls: its name in the configuration, and the dimensions of its two operands that are summed over
/// and that are heads. Dimension 0 of both is the batch.
struct CudnnProduct {
  std::string_view name;
  int64_t sum_a, heads_a, sum_b, heads_b;
};

// p and its gradient are [batch, heads, queries, keys].
constexpr CudnnProduct kForwardProducts[] = {{"bmm1", 3, 2, 3, 2},               // q k^T
                                             {"bmm2", 3, 1, 1, 2}};              // p v
constexpr CudnnProduct kBackwardProducts[] = {{"bmm1_grad_gemm1", 2, 1, 1, 2},   // d_k: d_p^T q
                                              {"bmm1_grad_gemm2", 3, 1, 1, 2},   // d_q: d_p k
                                              {"bmm2_grad_gemm1", 2, 1, 1, 2},   // d_v: p^T d_y
                                              {"bmm2_grad_gemm2", 3, 2, 3, 2}};  // d_p: d_y v^T

class CudnnEmitter {
 public:
  explicit CudnnEmitter(const EmitCall& call)
      : call_(call),
        attrs_(call.attrs.as<AttentionAttrs>()),
        sizes_(attention_sizes(attrs_, call.inputs[0].type, call.inputs[1].type, call.inputs[2].type)),
        half_(call.inputs[0].type.dtype) {}

  /// Returns y and lse.
  std::vector<Hlo> forward() const {
    const std::vector<Hlo> results =
        custom_call("__cudnn$fmhaSoftmax", kForwardProducts, {queries(0), keys(1), keys(2)},
                    {of_queries(), lse_type(sizes_, half_), kWorkspace});
    return {back(results[0], call_.outputs[0]), call_.convert(results[1], call_.outputs[1].dtype)};
  }

  /// Returns the gradients of q, k and v.
  std::vector<Hlo> backward() const {
    const Type of_keys{half_, {sizes_.batch, sizes_.kv_heads, sizes_.keys, sizes_.width}};
    const std::vector<Hlo> results =
        custom_call("__cudnn$fmhaSoftmaxBackward", kBackwardProducts,
                    {queries(0), keys(1), keys(2), call_.convert(call_.inputs[4], DType::f32), queries(5), queries(3)},
                    {of_queries(), of_keys, of_keys, kWorkspace});
    return {back(results[0], call_.outputs[0]), back(results[1], call_.outputs[1]), back(results[2], call_.outputs[2])};
  }

 private:
  inline static const Type kWorkspace{DType::u8, {0}};  // the compiler gives it its size

  Hlo queries(size_t operand) const {
    return call_.reshape(call_.inputs[operand], {sizes_.batch, sizes_.queries, sizes_.heads, sizes_.width});
  }
  Hlo keys(size_t operand) const {
    return call_.reshape(call_.inputs[operand], {sizes_.batch, sizes_.keys, sizes_.kv_heads, sizes_.width});
  }
  Type of_queries() const { return {half_, {sizes_.batch, sizes_.heads, sizes_.queries, sizes_.width}}; }

  /// Returns a result with its heads in the last dimension.
  Hlo back(const Hlo& x, const Type& type) const {
    return call_.convert(call_.reshape(hlo_transpose(call_, x, {0, 2, 1, 3}), type.shape), type.dtype);
  }

  std::vector<Hlo> custom_call(std::string_view target, std::span<const CudnnProduct> products,
                               const std::vector<Hlo>& operands, const std::vector<Type>& types) const {
    std::string names, operand_layouts, result_layouts, result_types;
    for (const Hlo& operand : operands) {
      names += (names.empty() ? "" : ", ") + operand.name;
      operand_layouts += (operand_layouts.empty() ? "" : ", ") + layout(operand.type, /*is_result=*/false);
    }
    for (const Type& type : types) {
      result_types += (result_types.empty() ? "" : ", ") + hlo_type(type);
      result_layouts += (result_layouts.empty() ? "" : ", ") + layout(type, /*is_result=*/true);
    }
    return call_.body.add_several(
        fmt::format("stablehlo.custom_call @{}({}) {{api_version = 2 : i32, backend_config = \"{}\", operand_layouts = "
                    "[{}], result_layouts = [{}]}} : {} -> ({})",
                    target, names, escaped(configuration(products)), operand_layouts, result_layouts,
                    hlo_types(operands), result_types),
        types);
  }

  /// Returns the order of dimensions in memory, the fastest first. In results, heads are faster than positions.
  static std::string layout(const Type& type, bool is_result) {
    switch (type.shape.size()) {
      case 1: return "dense<0> : tensor<1xindex>";
      case 3: return "dense<[2, 1, 0]> : tensor<3xindex>";
      default: return fmt::format("dense<[{}]> : tensor<4xindex>", is_result ? "3, 1, 2, 0" : "3, 2, 1, 0");
    }
  }

  /// Returns the configuration as JSON. Integers are texts, as in JSON of protocol buffers. The algorithm is the one
  /// that XLA takes for cuDNN's graphs.
  std::string configuration(std::span<const CudnnProduct> products) const {
    std::string text = fmt::format(
        R"({{"operation_queue_id": "0", "cudnn_fmha_backend_config": {{"algorithm": {{"algo_id": "0", )"
        R"("math_type": "TENSOR_OP_MATH", "tuning_knobs": {{"17": "1", "24": "0"}}, "is_cudnn_frontend": true, )"
        R"("workspace_size": "0"}}, "fmha_scale": {}, "dropout_rate": 0.0, "seed": 42, "is_flash_attention": true, )"
        R"("mask_type": "{}", "sliding_window_length": 0, "max_seg_per_batch": 1, "is_paged_attention": false, )",
        sizes_.scale(attrs_), attrs_.causal ? "CAUSAL" : "NO_MASK");
    text +=
        fmt::format(R"("intermediate_tensor_shape": {{"element_type": "{}", "dimensions": ["{}", "{}", "{}", "{}"], )"
                    R"("layout": {{"minor_to_major": ["3", "2", "1", "0"]}}, )"
                    R"("is_dynamic_dimension": [false, false, false, false]}})",
                    half_ == DType::bf16 ? "BF16" : "F16", sizes_.batch, sizes_.heads, sizes_.queries, sizes_.keys);
    for (const CudnnProduct& product : products) {
      text += fmt::format(R"(, "{}_dot_dimension_numbers": {{"lhs_contracting_dimensions": ["{}"], )"
                          R"("rhs_contracting_dimensions": ["{}"], "lhs_batch_dimensions": ["0", "{}"], )"
                          R"("rhs_batch_dimensions": ["0", "{}"]}})",
                          product.name, product.sum_a, product.sum_b, product.heads_a, product.heads_b);
    }
    return text + "}}";
  }

  /// Returns the text as it stands in a string of StableHLO.
  static std::string escaped(const std::string& text) {
    std::string escaped;
    for (const char c : text) escaped += c == '"' ? "\\\"" : std::string(1, c);
    return escaped;
  }

  const EmitCall& call_;
  const AttentionAttrs& attrs_;
  const AttentionSizes sizes_;
  const DType half_;
};

}  // namespace

CudnnCall cudnn_attention() {
  return {.refusal = refusal_of_cudnn, .emit = [](const EmitCall& call) { return CudnnEmitter(call).forward(); }};
}

CudnnCall cudnn_attention_grad() {
  return {.refusal = refusal_of_cudnn, .emit = [](const EmitCall& call) { return CudnnEmitter(call).backward(); }};
}

}  // namespace partita
