// rnn and its gradient in f32: products of oneDNN, step by step, with the weights packed once for all steps.

#include "ir/ops/recurrent/rnn.h"

#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/cpu/onednn/step_product.h"

namespace partita {
namespace {

constexpr auto kRnnOnednn = "onednn.rnn";
constexpr auto kRnnGradOnednn = "onednn.rnn_grad";

/// The sizes and the product of a query.
struct RnnProduct {
  RecurrentSizes sizes;
  StepProduct::ProductDesc product;

  static RnnProduct of(const KernelQuery& query) {
    if (query.op == "rnn") {
      const RecurrentSizes sizes(query.inputs[0].shape, query.inputs[1].shape);
      return {sizes, StepProduct::forward(sizes, /*add=*/true)};
    }
    const RecurrentSizes sizes(query.outputs[0].shape, query.inputs[0].shape);
    return {sizes, StepProduct::backward(sizes, /*add=*/false)};
  }
};

class RnnKernel : public Kernel {
 public:
  RnnKernel(const RnnAttrs& attrs, const RnnProduct& of, int64_t scratch_bytes)
      : attrs_(attrs), sizes_(of.sizes), product_(of.sizes, of.product, /*is_forward=*/true, scratch_bytes) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto *sums = static_cast<const float*>(inputs[0]), *h = static_cast<const float*>(inputs[2]);
    product_.pack(static_cast<const float*>(inputs[1]), scratch);
    for (int64_t k = 0; k < sizes_.steps; ++k) {
      const int64_t at = sizes_.step(attrs_.reversed, k) * sizes_.states();
      float* state = static_cast<float*>(outputs[0]) + at;
      std::copy_n(sums + at, sizes_.states(), state);
      product_.run(h, state, scratch);
      activate_rnn(sizes_.states(), attrs_.relu, state);
      h = state;
    }
  }

 private:
  const RnnAttrs attrs_;
  const RecurrentSizes sizes_;
  const StepProduct product_;
};

class RnnGradKernel : public Kernel {
 public:
  RnnGradKernel(const RnnAttrs& attrs, const RnnProduct& of, int64_t scratch_bytes)
      : attrs_(attrs), sizes_(of.sizes), product_(of.sizes, of.product, /*is_forward=*/false, scratch_bytes) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto *states = static_cast<const float*>(inputs[1]), *d_states = static_cast<const float*>(inputs[2]);
    auto *d_sums = static_cast<float*>(outputs[0]), *d_h = static_cast<float*>(outputs[1]);
    product_.pack(static_cast<const float*>(inputs[0]), scratch);
    std::fill_n(d_h, sizes_.states(), 0.0f);
    for (int64_t k = sizes_.steps - 1; k >= 0; --k) {
      const int64_t at = sizes_.step(attrs_.reversed, k) * sizes_.states();
      for (int64_t z = 0; z < sizes_.states(); ++z) d_h[z] += d_states[at + z];
      differentiate_rnn(sizes_.states(), attrs_.relu, states + at, d_h, d_sums + at);
      product_.run(d_sums + at, d_h, scratch);
    }
  }

 private:
  const RnnAttrs attrs_;
  const RecurrentSizes sizes_;
  const StepProduct product_;
};

KernelChoice propose_rnn(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  KernelChoice choice = propose_dense(query.op == "rnn" ? kRnnOnednn : kRnnGradOnednn, query);
  if (!choice.accepted()) return choice;
  try {
    choice.scratch_bytes = StepProduct::scratch_bytes(RnnProduct::of(query).product);
  } catch (const dnnl::error& error) {
    return refuse(no_such("product", error));
  }
  return choice;
}

template <class RnnKind>
std::unique_ptr<Kernel> make_rnn(const KernelQuery& query, const KernelChoice& choice) {
  return std::make_unique<RnnKind>(query.attrs.as<RnnAttrs>(), RnnProduct::of(query), choice.scratch_bytes);
}

}  // namespace

std::vector<KernelDef> rnn_kernels() {
  return {{kRnnOnednn, {"rnn"}, propose_rnn, make_rnn<RnnKernel>},
          {kRnnGradOnednn, {"rnn_grad"}, propose_rnn, make_rnn<RnnGradKernel>}};
}

}  // namespace partita
