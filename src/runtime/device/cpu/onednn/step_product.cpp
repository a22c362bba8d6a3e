#include "runtime/device/cpu/onednn/step_product.h"

namespace partita {
namespace {

constexpr int64_t kLine = 64;  // bytes of a cache line

Desc f32_desc(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return Desc({rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{row_stride, column_stride});
}

int64_t whole_lines(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

StepProduct::ProductDesc StepProduct::describe(int64_t rows, int64_t columns, int64_t inner, bool add) {
  const Desc x = f32_desc(rows, inner, inner, 1), y = f32_desc(rows, columns, columns, 1);
  const Desc w({inner, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  dnnl::primitive_attr attributes = user_scratchpad();
  if (add) {
    dnnl::post_ops sums;
    sums.append_sum(1);
    attributes.set_post_ops(sums);
  }
#if DNNL_VERSION_MAJOR >= 3
  return ProductDesc(onednn_engine(), x, w, y, attributes);
#else
  return ProductDesc(dnnl::matmul::desc(x, w, y), attributes, onednn_engine());
#endif
}

int64_t StepProduct::scratch_bytes(const ProductDesc& pd) {
  return whole_lines(static_cast<int64_t>(pd.weights_desc().get_size())) + scratchpad_bytes(pd);
}

StepProduct::StepProduct(const RecurrentSizes& sizes, const ProductDesc& pd, bool is_forward, int64_t scratch_bytes)
    : packed_(whole_lines(static_cast<int64_t>(pd.weights_desc().get_size()))) {
  const Desc weights = is_forward ? f32_desc(sizes.inner, sizes.gate_row(), 1, sizes.inner)
                                  : f32_desc(sizes.gate_row(), sizes.inner, sizes.inner, 1);
  const dnnl::reorder::primitive_desc packing(onednn_engine(), weights, onednn_engine(), pd.weights_desc(),
                                              user_scratchpad());
  PARTITA_CHECK(scratchpad_bytes(packing) == 0, "packing {} bytes of weights wants scratch memory", packed_);
  pack_ = std::make_unique<PrimitiveKernel>(
      dnnl::reorder(packing), std::vector<Argument>{{DNNL_ARG_FROM, weights, Argument::input, 0},
                                                    {DNNL_ARG_TO, pd.weights_desc(), Argument::output, 0}});
  product_ = std::make_unique<PrimitiveKernel>(
      dnnl::matmul(pd), with_scratchpad(pd,
                                        {{DNNL_ARG_SRC, pd.src_desc(), Argument::input, 0},
                                         {DNNL_ARG_WEIGHTS, pd.weights_desc(), Argument::input, 1},
                                         {DNNL_ARG_DST, pd.dst_desc(), Argument::output, 0}},
                                        scratch_bytes - packed_));
}

void StepProduct::pack(const float* weights, void* scratch) const {
  const void* in[] = {weights};
  void* out[] = {scratch};
  pack_->run(in, out, nullptr);
}

void StepProduct::run(const float* x, float* y, void* scratch) const {
  const void* in[] = {x, scratch};
  void* out[] = {y};
  product_->run(in, out, static_cast<char*>(scratch) + packed_);
}

}  // namespace partita
