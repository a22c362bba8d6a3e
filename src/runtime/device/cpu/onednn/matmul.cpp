#include "ir/ops/matmul/matmul.h"

#include "runtime/device/cpu/onednn/engine.h"

namespace partita {
namespace {

/// A description of dense matrices [batch, rows, columns], or of their transposes by strides; of [rows, columns] if
/// `batch` is 0.
Desc matrix_desc(DType dtype, int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  const dnnl::memory::data_type type = float_data_type(dtype);
  const int64_t row = transposed ? 1 : columns, column = transposed ? rows : 1;
  if (batch == 0) return Desc({rows, columns}, type, dnnl::memory::dims{row, column});
  return Desc({batch, rows, columns}, type, dnnl::memory::dims{rows * columns, row, column});
}

/// Describes the product of a query. For matmul, leading dimensions are merged into one batch. Without leading
/// dimensions, or if all rows of `a` can be multiplied by one `b`, and for matmul_rows, the product is one of two
/// matrices. Throws dnnl::error if oneDNN has none.
dnnl::matmul::primitive_desc describe_matmul_onednn(const KernelQuery& query) {
  const Type &a = query.inputs[0], &b = query.inputs[1], &y = query.outputs[0];
  if (query.op == "matmul_rows") {
    const int64_t rows = a.elements() / a.shape.back();
    return describe<dnnl::matmul>(matrix_desc(a.dtype, 0, a.shape.back(), rows, true),
                                  matrix_desc(b.dtype, 0, rows, b.shape.back(), false),
                                  matrix_desc(y.dtype, 0, a.shape.back(), b.shape.back(), false));
  }
  const auto& attrs = query.attrs.as<MatmulAttrs>();
  const int64_t columns = y.shape.back();
  int64_t rows = y.shape[y.shape.size() - 2];
  const int64_t inner = a.shape[a.shape.size() - (attrs.transpose_a ? 2 : 1)];
  int64_t batch = y.rank() == 2 ? 0 : y.elements() / (rows * columns);
  if (b.rank() == 2 && !attrs.transpose_a) {
    rows = y.elements() / columns;
    batch = 0;
  }
  const auto batch_of = [&](const Type& type) { return batch == 0 ? 0 : type.rank() == 2 ? 1 : batch; };
  return describe<dnnl::matmul>(matrix_desc(a.dtype, batch_of(a), rows, inner, attrs.transpose_a),
                                matrix_desc(b.dtype, batch_of(b), inner, columns, attrs.transpose_b),
                                matrix_desc(y.dtype, batch, rows, columns, false));
}

KernelChoice propose_matmul_onednn(const KernelQuery& query) {
  if (std::string reason = unsupported_product_by_onednn(query); !reason.empty()) return refuse(reason);
  KernelChoice choice;
  try {
    const auto pd = describe_matmul_onednn(query);
    if (query.inputs[0].dtype == DType::bf16 && is_slow(pd)) return refuse("oneDNN multiplies bf16 by its reference");
    choice.scratch_bytes = scratchpad_bytes(pd);
  } catch (const dnnl::error& error) {
    return refuse(no_such("product", error));
  }
  choice.kernel = "onednn.matmul";
  choice.inputs = {MemoryFormat{}, MemoryFormat{}};
  choice.outputs = {MemoryFormat{}};
  return choice;
}

std::unique_ptr<Kernel> make_matmul_onednn(const KernelQuery& query, const KernelChoice& choice) {
  const auto pd = describe_matmul_onednn(query);
  return std::make_unique<PrimitiveKernel>(dnnl::matmul(pd),
                                           with_scratchpad(pd,
                                                           {{DNNL_ARG_SRC, pd.src_desc(), Argument::input, 0},
                                                            {DNNL_ARG_WEIGHTS, pd.weights_desc(), Argument::input, 1},
                                                            {DNNL_ARG_DST, pd.dst_desc(), Argument::output, 0}},
                                                           choice.scratch_bytes));
}

}  // namespace

std::vector<KernelDef> matmul_kernels() {
  return {
      {"onednn.matmul", {"matmul", "matmul_rows"}, propose_matmul_onednn, make_matmul_onednn, /*mixes_halves=*/true}};
}

}  // namespace partita
