#include "device/cpu/onednn/engine.h"
#include "ops/batch_norm.h"

namespace partita {
namespace {

/// The variance 1 / rstd^2, which has epsilon in it already, lies at the start of the scratch.
int64_t variance_bytes(const KernelQuery& query) {
  constexpr int64_t kAlignment = 64;
  const int64_t bytes = query.inputs[0].shape[1] * static_cast<int64_t>(sizeof(float));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

auto describe_it(const KernelQuery& query, const Layout& layout) {
  const Desc x = desc_of(query.inputs[0], layout);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  constexpr float kEpsilon = 0;
#if DNNL_VERSION_MAJOR >= 3
  const auto hint =
      describe<dnnl::batch_normalization_forward>(dnnl::prop_kind::forward_training, x, x, kEpsilon, flags);
  return describe_backward<dnnl::batch_normalization_backward>(hint, dnnl::prop_kind::backward, x, x, x, kEpsilon,
                                                               flags);
#else
  const auto hint = describe<dnnl::batch_normalization_forward>(dnnl::prop_kind::forward_training, x, kEpsilon, flags);
  return describe_backward<dnnl::batch_normalization_backward>(hint, dnnl::prop_kind::backward, x, x, kEpsilon, flags);
#endif
}

KernelChoice propose(const KernelQuery& query) {
  if (std::string reason = refusal(query); !reason.empty()) return refuse(reason);
  if (query.inputs[0].rank() != 4) return refuse("rank 2 is not supported");
  if (query.inputs[2].shape[0] != 1) return refuse("several groups are not supported");
  // x and d_y must lie the same way: as x does, unless only d_y has a layout of its own.
  Layout layout = query.input_layouts[0];
  if (layout.any()) layout = query.input_layouts[4];
  if (layout.any()) layout = {};
  // oneDNN leaves what was in the padding of d_x, which the next convolution would read.
  if (layout_bytes(query.inputs[0], layout) != query.inputs[0].bytes()) layout = {};
  KernelChoice choice;
  try {
    choice.scratch_bytes = variance_bytes(query) + scratchpad_bytes(describe_it(query, layout));
  } catch (const dnnl::error& error) {
    return refuse(fmt::format("oneDNN has no such batch norm gradient: {}", error.what()));
  }
  choice.kernel = "onednn.batch_norm_grad";
  choice.inputs = {layout, Layout{}, Layout{}, Layout{}, layout};
  choice.outputs = {layout, Layout{}, Layout{}};
  return choice;
}

class BatchNormGrad final : public PrimitiveKernel {
 public:
  BatchNormGrad(const dnnl::primitive& primitive, const std::vector<Argument>& arguments, int64_t channels)
      : PrimitiveKernel(primitive, arguments), channels_(channels) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto* rstd = static_cast<const float*>(inputs[3]);
    auto* variance = static_cast<float*>(scratch);
    for (int64_t channel = 0; channel < channels_; ++channel) {
      variance[channel] = 1 / (rstd[channel] * rstd[channel]);
    }
    PrimitiveKernel::run(inputs, outputs, scratch);
  }

 private:
  int64_t channels_;
};

/// oneDNN 2.6 counts a shift among the inputs but does not read it: gamma stands in for it.
std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) {
  const auto pd = describe_it(query, choice.inputs[0]);
  const int64_t channels = query.inputs[0].shape[1];
  const Desc x = desc_of(query.inputs[0], choice.inputs[0]), channel = plain_desc({channels});
  return std::make_unique<BatchNormGrad>(dnnl::batch_normalization_backward(pd),
                                         with_scratchpad(pd,
                                                         {{DNNL_ARG_SRC, x, Argument::input, 0},
                                                          {DNNL_ARG_SCALE, channel, Argument::input, 1},
                                                          {DNNL_ARG_SHIFT, channel, Argument::input, 1},
                                                          {DNNL_ARG_MEAN, channel, Argument::input, 2},
                                                          {DNNL_ARG_VARIANCE, channel, Argument::scratch, 0},
                                                          {DNNL_ARG_DIFF_DST, x, Argument::input, 4},
                                                          {DNNL_ARG_DIFF_SRC, x, Argument::output, 0},
                                                          {DNNL_ARG_DIFF_SCALE, channel, Argument::output, 1},
                                                          {DNNL_ARG_DIFF_SHIFT, channel, Argument::output, 2}},
                                                         choice.scratch_bytes, variance_bytes(query)),
                                         channels);
}

}  // namespace

KernelDef batch_norm_grad_kernel() { return {"onednn.batch_norm_grad", {"batch_norm_grad"}, propose, make}; }

}  // namespace partita
