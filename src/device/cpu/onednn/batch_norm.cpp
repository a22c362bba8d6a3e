#include "ops/batch_norm.h"

#include <cmath>

#include "device/cpu/onednn/engine.h"

namespace partita {
namespace {

auto describe_it(const KernelQuery& query, const Layout& layout) {
  const Desc x = desc_of(query.inputs[0], layout);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto epsilon = static_cast<float>(query.attrs.as<BatchNormAttrs>().epsilon);
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::batch_normalization_forward>(dnnl::prop_kind::forward_training, x, x, epsilon, flags);
#else
  return describe<dnnl::batch_normalization_forward>(dnnl::prop_kind::forward_training, x, epsilon, flags);
#endif
}

KernelChoice propose(const KernelQuery& query) {
  if (std::string reason = refusal(query); !reason.empty()) return refuse(reason);
  if (query.inputs[0].rank() != 4) return refuse("rank 2 is not supported");
  if (query.attrs.as<BatchNormAttrs>().groups != 1) return refuse("several groups are not supported");
  const Layout x = query.input_layouts[0].any() ? Layout{} : query.input_layouts[0];
  KernelChoice choice;
  try {
    choice.scratch_bytes = scratchpad_bytes(describe_it(query, x));
  } catch (const dnnl::error& error) {
    return refuse(fmt::format("oneDNN has no such batch norm: {}", error.what()));
  }
  choice.kernel = "onednn.batch_norm";
  choice.inputs = {x, Layout{}, Layout{}};
  choice.outputs = {x, Layout{}, Layout{}};
  return choice;
}

/// oneDNN gives the variance, which is turned in its place into rstd.
class BatchNorm final : public PrimitiveKernel {
 public:
  BatchNorm(const dnnl::primitive& primitive, const std::vector<Argument>& arguments, int64_t channels, float epsilon)
      : PrimitiveKernel(primitive, arguments), channels_(channels), epsilon_(epsilon) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    PrimitiveKernel::run(inputs, outputs, scratch);
    auto* rstd = static_cast<float*>(outputs[2]);
    for (int64_t channel = 0; channel < channels_; ++channel) rstd[channel] = 1 / std::sqrt(rstd[channel] + epsilon_);
  }

 private:
  int64_t channels_;
  float epsilon_;
};

std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) {
  const auto pd = describe_it(query, choice.inputs[0]);
  const int64_t channels = query.inputs[0].shape[1];
  const Desc channel = plain_desc({channels});
  return std::make_unique<BatchNorm>(dnnl::batch_normalization_forward(pd),
                                     with_scratchpad(pd,
                                                     {{DNNL_ARG_SRC, pd.src_desc(), Argument::input, 0},
                                                      {DNNL_ARG_SCALE, channel, Argument::input, 1},
                                                      {DNNL_ARG_SHIFT, channel, Argument::input, 2},
                                                      {DNNL_ARG_DST, pd.dst_desc(), Argument::output, 0},
                                                      {DNNL_ARG_MEAN, channel, Argument::output, 1},
                                                      {DNNL_ARG_VARIANCE, channel, Argument::output, 2}},
                                                     choice.scratch_bytes),
                                     channels, static_cast<float>(query.attrs.as<BatchNormAttrs>().epsilon));
}

}  // namespace

KernelDef batch_norm_kernel() { return {"onednn.batch_norm", {"batch_norm"}, propose, make}; }

}  // namespace partita
