#include "ops/conv2d.h"

#include "device/cpu/onednn/convolution.h"

namespace partita {
namespace {

Convolution convolution_of(const KernelQuery& query) {
  return make_convolution(query.attrs.as<Conv2dAttrs>(), query.inputs[0], query.inputs[1], query.outputs[0]);
}

void set_layouts(Convolution& conv, const KernelChoice& choice) {
  conv.x_layout = choice.inputs[0];
  conv.weight_layout = choice.inputs[1];
  conv.y_layout = choice.outputs[0];
}

auto describe_it(const Convolution& conv) { return conv.forward(); }

KernelChoice propose(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  Convolution conv = convolution_of(query);
  if (query.like) set_layouts(conv, *query.like);
  const auto settled =
      query.like ? scratch_of(conv, describe_it) : settle(conv, query.input_layouts[0], Layout{}, describe_it);
  if (const auto* reason = std::get_if<std::string>(&settled)) return refuse(*reason);
  KernelChoice choice;
  choice.kernel = "onednn.conv2d";
  choice.inputs = {conv.x_layout, conv.weight_layout};
  choice.outputs = {conv.y_layout};
  choice.scratch_bytes = std::get<int64_t>(settled);
  return choice;
}

std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) {
  Convolution conv = convolution_of(query);
  set_layouts(conv, choice);
  const auto pd = describe_it(conv);
  return std::make_unique<PrimitiveKernel>(dnnl::convolution_forward(pd),
                                           with_scratchpad(pd,
                                                           {{DNNL_ARG_SRC, conv.x_desc(), Argument::input, 0},
                                                            {DNNL_ARG_WEIGHTS, conv.weight_desc(), Argument::input, 1},
                                                            {DNNL_ARG_DST, conv.y_desc(), Argument::output, 0}},
                                                           choice.scratch_bytes));
}

}  // namespace

KernelDef conv2d_kernel() { return {"onednn.conv2d", {"conv2d"}, propose, make}; }

}  // namespace partita
