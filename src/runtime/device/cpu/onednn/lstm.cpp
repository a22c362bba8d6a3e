// lstm and its gradient in f32: products of oneDNN, step by step, with the weights packed once for all steps.

#include "ir/ops/recurrent/lstm.h"

#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/cpu/onednn/step_product.h"

namespace partita {
namespace {

constexpr auto kLstmOnednn = "onednn.lstm";
constexpr auto kLstmGradOnednn = "onednn.lstm_grad";
using ProductDesc = StepProduct::ProductDesc;

class LstmKernel : public Kernel {
 public:
  LstmKernel(const RecurrentAttrs& attrs, const RecurrentSizes& sizes, const ProductDesc& pd, int64_t scratch_bytes)
      : attrs_(attrs), sizes_(sizes), product_(sizes, pd, /*is_forward=*/true, scratch_bytes) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto *sums = static_cast<const float*>(inputs[0]), *h = static_cast<const float*>(inputs[2]);
    const auto* c = static_cast<const float*>(inputs[3]);
    product_.pack(static_cast<const float*>(inputs[1]), scratch);
    for (int64_t k = 0; k < sizes_.steps; ++k) {
      const int64_t t = sizes_.step(attrs_.reversed, k);
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
  const RecurrentAttrs attrs_;
  const RecurrentSizes sizes_;
  const StepProduct product_;
};

class LstmGradKernel : public Kernel {
 public:
  LstmGradKernel(const RecurrentAttrs& attrs, const RecurrentSizes& sizes, const ProductDesc& pd, int64_t scratch_bytes)
      : attrs_(attrs), sizes_(sizes), product_(sizes, pd, /*is_forward=*/false, scratch_bytes) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto in = [&](size_t k) { return static_cast<const float*>(inputs[k]); };
    const float *gates = in(1), *cells = in(2), *first_cell = in(3), *d_states = in(4), *d_cells = in(5);
    auto *d_gates = static_cast<float*>(outputs[0]), *d_h = static_cast<float*>(outputs[1]);
    auto* carried = static_cast<float*>(outputs[2]);
    product_.pack(in(0), scratch);
    std::fill_n(d_h, sizes_.rows * sizes_.inner, 0.0f);
    std::fill_n(carried, sizes_.states(), 0.0f);
    for (int64_t k = sizes_.steps - 1; k >= 0; --k) {
      const int64_t t = sizes_.step(attrs_.reversed, k);
      const float* before = k == 0 ? first_cell : cells + sizes_.step(attrs_.reversed, k - 1) * sizes_.states();
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
  const RecurrentAttrs attrs_;
  const RecurrentSizes sizes_;
  const StepProduct product_;
};

/// The product of a step of a query.
struct Described {
  RecurrentSizes sizes;
  ProductDesc product;

  static Described of(const KernelQuery& query) {
    const bool is_forward = query.op == "lstm";
    const Shape &gates = query.inputs[is_forward ? 0 : 1].shape, &weights = query.inputs[is_forward ? 1 : 0].shape;
    const RecurrentSizes sizes(gates, weights);
    return {sizes,
            is_forward ? StepProduct::forward(sizes, /*add=*/true) : StepProduct::backward(sizes, /*add=*/false)};
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
  return std::make_unique<LstmKind>(query.attrs.as<RecurrentAttrs>(), described.sizes, described.product,
                                    choice.scratch_bytes);
}

}  // namespace

std::vector<KernelDef> lstm_kernels() {
  return {{kLstmOnednn, {"lstm"}, propose_lstm, make_lstm<LstmKernel>},
          {kLstmGradOnednn, {"lstm_grad"}, propose_lstm, make_lstm<LstmGradKernel>}};
}

}  // namespace partita
