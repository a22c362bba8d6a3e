// gru and its gradient in f32: products of oneDNN, step by step, with the weights packed once for all steps.

#include "ir/ops/recurrent/gru.h"

#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/cpu/onednn/step_product.h"

namespace partita {
namespace {

constexpr auto kGruOnednn = "onednn.gru";
constexpr auto kGruGradOnednn = "onednn.gru_grad";

/// Elements of the scratch memory before that of the product: the weighted states of a step, in whole cache lines.
int64_t weighted_elements(const RecurrentSizes& sizes) { return (sizes.gates() + 15) / 16 * 16; }

/// The sizes and the product of a query.
struct GruProduct {
  RecurrentSizes sizes;
  StepProduct::ProductDesc product;

  static GruProduct of(const KernelQuery& query) {
    const bool is_forward = query.op == "gru";
    const RecurrentSizes sizes(query.inputs[is_forward ? 0 : 1].shape, query.inputs[is_forward ? 1 : 0].shape);
    return {sizes,
            is_forward ? StepProduct::forward(sizes, /*add=*/false) : StepProduct::backward(sizes, /*add=*/true)};
  }
  int64_t own_bytes() const { return weighted_elements(sizes) * static_cast<int64_t>(sizeof(float)); }
  int64_t scratch_bytes() const { return own_bytes() + StepProduct::scratch_bytes(product); }
};

class GruKernel : public Kernel {
 public:
  GruKernel(const RecurrentAttrs& attrs, const GruProduct& of, int64_t scratch_bytes)
      : attrs_(attrs),
        sizes_(of.sizes),
        product_(of.sizes, of.product, /*is_forward=*/true, scratch_bytes - of.own_bytes()) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto *sums = static_cast<const float*>(inputs[0]), *h = static_cast<const float*>(inputs[3]);
    const auto* bias = static_cast<const float*>(inputs[2]);
    auto* weighted = static_cast<float*>(scratch);
    float* own = weighted + weighted_elements(sizes_);
    product_.pack(static_cast<const float*>(inputs[1]), own);
    for (int64_t k = 0; k < sizes_.steps; ++k) {
      const int64_t t = sizes_.step(attrs_.reversed, k);
      float* state = static_cast<float*>(outputs[0]) + t * sizes_.states();
      float* gates = static_cast<float*>(outputs[1]) + t * sizes_.gates();
      float* fresh = static_cast<float*>(outputs[2]) + t * sizes_.states();
      std::copy_n(sums + t * sizes_.gates(), sizes_.gates(), gates);
      product_.run(h, weighted, own);
#pragma omp parallel for if (sizes_.gates() > kSerialElements)
      for (int64_t r = 0; r < sizes_.rows; ++r) {
        const int64_t at = r * sizes_.size;
        compute_gru_row(sizes_.size, weighted + kGruGates * at, bias, h + at, gates + kGruGates * at, fresh + at,
                        state + at);
      }
      h = state;
    }
  }

 private:
  const RecurrentAttrs attrs_;
  const RecurrentSizes sizes_;
  const StepProduct product_;
};

class GruGradKernel : public Kernel {
 public:
  GruGradKernel(const RecurrentAttrs& attrs, const GruProduct& of, int64_t scratch_bytes)
      : attrs_(attrs),
        sizes_(of.sizes),
        product_(of.sizes, of.product, /*is_forward=*/false, scratch_bytes - of.own_bytes()) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto in = [&](size_t k) { return static_cast<const float*>(inputs[k]); };
    const float *gates = in(1), *fresh = in(2), *states = in(3), *first = in(4), *d_states = in(5);
    auto *d_gates = static_cast<float*>(outputs[0]), *d_fresh = static_cast<float*>(outputs[1]);
    auto *d_h = static_cast<float*>(outputs[2]), *d_weighted = static_cast<float*>(scratch);
    float* own = d_weighted + weighted_elements(sizes_);
    product_.pack(in(0), own);
    std::fill_n(d_h, sizes_.states(), 0.0f);
    for (int64_t k = sizes_.steps - 1; k >= 0; --k) {
      const int64_t t = sizes_.step(attrs_.reversed, k);
      const float* before = k == 0 ? first : states + sizes_.step(attrs_.reversed, k - 1) * sizes_.states();
#pragma omp parallel for if (sizes_.gates() > kSerialElements)
      for (int64_t r = 0; r < sizes_.rows; ++r) {
        const int64_t row = r * sizes_.size, at = t * sizes_.states() + row;
        float* d_row = d_weighted + kGruGates * row;
        for (int64_t z = 0; z < sizes_.size; ++z) d_h[row + z] += d_states[at + z];
        differentiate_gru_row(sizes_.size, gates + kGruGates * at, fresh + at, before + row, d_h + row,
                              d_gates + kGruGates * at, d_row);
        std::copy_n(d_row + kGruNew * sizes_.size, sizes_.size, d_fresh + at);
      }
      product_.run(d_weighted, d_h, own);
    }
  }

 private:
  const RecurrentAttrs attrs_;
  const RecurrentSizes sizes_;
  const StepProduct product_;
};

KernelChoice propose_gru(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  KernelChoice choice = propose_dense(query.op == "gru" ? kGruOnednn : kGruGradOnednn, query);
  if (!choice.accepted()) return choice;
  try {
    choice.scratch_bytes = GruProduct::of(query).scratch_bytes();
  } catch (const dnnl::error& error) {
    return refuse(no_such("product", error));
  }
  return choice;
}

template <class GruKind>
std::unique_ptr<Kernel> make_gru(const KernelQuery& query, const KernelChoice& choice) {
  return std::make_unique<GruKind>(query.attrs.as<RecurrentAttrs>(), GruProduct::of(query), choice.scratch_bytes);
}

}  // namespace

std::vector<KernelDef> gru_kernels() {
  return {{kGruOnednn, {"gru"}, propose_gru, make_gru<GruKernel>},
          {kGruGradOnednn, {"gru_grad"}, propose_gru, make_gru<GruGradKernel>}};
}

}  // namespace partita
