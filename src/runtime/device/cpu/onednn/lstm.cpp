// lstm and its gradient in f32: products of oneDNN, step by step, with the weights packed once for all steps.

#include "ir/ops/recurrent/lstm.h"

#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/cpu/onednn/engine.h"

namespace partita {
namespace {

constexpr auto kLstmOnednn = "onednn.lstm";
constexpr auto kLstmGradOnednn = "onednn.lstm_grad";
constexpr int64_t kLine = 64;  // bytes of a cache line

using ProductDesc = dnnl::matmul::primitive_desc;

Desc f32_desc(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return Desc({rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{row_stride, column_stride});
}

/// Describes y (+)= x w, with w in the memory format that the library chooses.
ProductDesc describe_product(int64_t rows, int64_t columns, int64_t inner, bool add) {
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

int64_t whole_lines(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

/// Products of the rows of each step with the same weights, which are packed before the first one.
class StepProduct {
 public:
  /// `pd`: of `describe_product`. `weights`: those that are given. `scratch_bytes`: at least `scratch_bytes(pd)`.
  StepProduct(const ProductDesc& pd, const Desc& weights, int64_t scratch_bytes)
      : own_(whole_lines(static_cast<int64_t>(pd.weights_desc().get_size()))) {
    const dnnl::reorder::primitive_desc packing(onednn_engine(), weights, onednn_engine(), pd.weights_desc(),
                                                user_scratchpad());
    PARTITA_CHECK(scratchpad_bytes(packing) == 0, "packing {} bytes of weights wants scratch memory", own_);
    pack_ = std::make_unique<PrimitiveKernel>(
        dnnl::reorder(packing), std::vector<Argument>{{DNNL_ARG_FROM, weights, Argument::input, 0},
                                                      {DNNL_ARG_TO, pd.weights_desc(), Argument::output, 0}});
    product_ = std::make_unique<PrimitiveKernel>(
        dnnl::matmul(pd), with_scratchpad(pd,
                                          {{DNNL_ARG_SRC, pd.src_desc(), Argument::input, 0},
                                           {DNNL_ARG_WEIGHTS, pd.weights_desc(), Argument::input, 1},
                                           {DNNL_ARG_DST, pd.dst_desc(), Argument::output, 0}},
                                          scratch_bytes - own_));
  }
  static int64_t scratch_bytes(const ProductDesc& pd) {
    return whole_lines(static_cast<int64_t>(pd.weights_desc().get_size())) + scratchpad_bytes(pd);
  }

  void pack(const float* weights, void* scratch) const {
    const void* in[] = {weights};
    void* out[] = {scratch};
    pack_->run(in, out, nullptr);
  }
  /// Computes the product of rows and the packed weights in `scratch`.
  void run(const float* x, float* y, void* scratch) const {
    const void* in[] = {x, scratch};
    void* out[] = {y};
    product_->run(in, out, static_cast<char*>(scratch) + own_);
  }

 private:
  int64_t own_;
  std::unique_ptr<Kernel> pack_, product_;
};

class LstmKernel : public Kernel {
 public:
  LstmKernel(const LstmAttrs& attrs, const LstmSizes& sizes, const ProductDesc& pd, int64_t scratch_bytes)
      : attrs_(attrs),
        sizes_(sizes),
        product_(pd, f32_desc(sizes.inner, sizes.gate_row(), 1, sizes.inner), scratch_bytes) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto *sums = static_cast<const float*>(inputs[0]), *h = static_cast<const float*>(inputs[2]);
    const auto* c = static_cast<const float*>(inputs[3]);
    product_.pack(static_cast<const float*>(inputs[1]), scratch);
    for (int64_t k = 0; k < sizes_.steps; ++k) {
      const int64_t t = sizes_.step(attrs_, k);
      float* state = static_cast<float*>(outputs[0]) + t * sizes_.states();
      float* cell = static_cast<float*>(outputs[1]) + t * sizes_.states();
      float* gates = static_cast<float*>(outputs[2]) + t * sizes_.gates();
      std::copy_n(sums + t * sizes_.gates(), sizes_.gates(), gates);
      product_.run(h, gates, scratch);
#pragma omp parallel for if (sizes_.gates() > kSerialElements)
      for (int64_t r = 0; r < sizes_.rows; ++r) {
        const int64_t at = r * sizes_.size;
        compute_lstm_row(sizes_.size, gates + kLstmGates * at, c + at, cell + at, state + at);
      }
      h = state;
      c = cell;
    }
  }

 private:
  const LstmAttrs attrs_;
  const LstmSizes sizes_;
  const StepProduct product_;
};

class LstmGradKernel : public Kernel {
 public:
  LstmGradKernel(const LstmAttrs& attrs, const LstmSizes& sizes, const ProductDesc& pd, int64_t scratch_bytes)
      : attrs_(attrs),
        sizes_(sizes),
        product_(pd, f32_desc(sizes.gate_row(), sizes.inner, sizes.inner, 1), scratch_bytes) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto in = [&](size_t k) { return static_cast<const float*>(inputs[k]); };
    const float *gates = in(1), *cells = in(2), *first_cell = in(3), *d_states = in(4), *d_cells = in(5);
    auto *d_gates = static_cast<float*>(outputs[0]), *d_h = static_cast<float*>(outputs[1]);
    auto* carried = static_cast<float*>(outputs[2]);
    product_.pack(in(0), scratch);
    std::fill_n(d_h, sizes_.rows * sizes_.inner, 0.0f);
    std::fill_n(carried, sizes_.states(), 0.0f);
    for (int64_t k = sizes_.steps - 1; k >= 0; --k) {
      const int64_t t = sizes_.step(attrs_, k);
      const float* before = k == 0 ? first_cell : cells + sizes_.step(attrs_, k - 1) * sizes_.states();
#pragma omp parallel for if (sizes_.gates() > kSerialElements)
      for (int64_t r = 0; r < sizes_.rows; ++r) {
        const int64_t row = r * sizes_.size, at = t * sizes_.states() + row;
        for (int64_t z = 0; z < sizes_.size; ++z) d_h[row + z] += d_states[at + z];
        differentiate_lstm_row(sizes_.size, gates + kLstmGates * at, before + row, cells + at, d_h + row, d_cells + at,
                               carried + row, d_gates + kLstmGates * at);
      }
      product_.run(d_gates + t * sizes_.gates(), d_h, scratch);
    }
  }

 private:
  const LstmAttrs attrs_;
  const LstmSizes sizes_;
  const StepProduct product_;
};

/// The product of a step of a query.
struct Described {
  LstmSizes sizes;
  ProductDesc product;

  static Described of(const KernelQuery& query) {
    const bool is_forward = query.op == "lstm";
    const Shape &gates = query.inputs[is_forward ? 0 : 1].shape, &weights = query.inputs[is_forward ? 1 : 0].shape;
    const LstmSizes sizes(gates, weights);
    return {sizes, is_forward ? describe_product(sizes.rows, sizes.gate_row(), sizes.inner, /*add=*/true)
                              : describe_product(sizes.rows, sizes.inner, sizes.gate_row(), /*add=*/false)};
  }
};

KernelChoice propose_lstm(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  KernelChoice choice = propose_dense(query.op == "lstm" ? kLstmOnednn : kLstmGradOnednn, query);
  if (!choice.accepted()) return choice;
  try {
    choice.scratch_bytes = StepProduct::scratch_bytes(Described::of(query).product);
  } catch (const dnnl::error& error) {
    return refuse(no_such("product", error));
  }
  return choice;
}

template <class LstmKind>
std::unique_ptr<Kernel> make_lstm(const KernelQuery& query, const KernelChoice& choice) {
  const Described described = Described::of(query);
  return std::make_unique<LstmKind>(query.attrs.as<LstmAttrs>(), described.sizes, described.product,
                                    choice.scratch_bytes);
}

}  // namespace

std::vector<KernelDef> lstm_kernels() {
  return {{kLstmOnednn, {"lstm"}, propose_lstm, make_lstm<LstmKernel>},
          {kLstmGradOnednn, {"lstm_grad"}, propose_lstm, make_lstm<LstmGradKernel>}};
}

}  // namespace partita
