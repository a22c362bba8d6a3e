#include "ir/ops/conv/conv2d.h"
#include "runtime/device/cpu/onednn/convolution.h"

namespace partita {
namespace {

Convolution conv2d_grad_input_onednn_convolution_of(const KernelQuery& query) {
  return make_convolution(query.attrs.as<Conv2dGradInputAttrs>(), query.outputs[0], query.inputs[1], query.inputs[0]);
}

void set_formats_conv2d_grad_input_onednn(Convolution& conv, const KernelChoice& choice) {
  conv.x_format = choice.outputs[0];
  conv.weight_format = choice.inputs[1];
  conv.y_format = choice.inputs[0];
}

auto describe_conv2d_grad_input_onednn(const Convolution& conv) { return conv.backward_data(); }

KernelChoice propose_conv2d_grad_input_onednn(const KernelQuery& query) {
  if (std::string reason = unsupported_product_by_onednn(query); !reason.empty()) return refuse(reason);
  Convolution conv = conv2d_grad_input_onednn_convolution_of(query);
  if (query.like) set_formats_conv2d_grad_input_onednn(conv, *query.like);
  const auto scratch =
      query.like ? scratch_of(conv, describe_conv2d_grad_input_onednn)
                 : choose_formats(conv, MemoryFormat{}, query.input_formats[0], describe_conv2d_grad_input_onednn);
  if (const auto* reason = std::get_if<std::string>(&scratch)) return refuse(*reason);
  KernelChoice choice;
  choice.kernel = "onednn.conv2d_grad_input";
  choice.inputs = {conv.y_format, conv.weight_format};
  choice.outputs = {conv.x_format};
  choice.scratch_bytes = std::get<int64_t>(scratch);
  return choice;
}

std::unique_ptr<Kernel> make_conv2d_grad_input_onednn(const KernelQuery& query, const KernelChoice& choice) {
  Convolution conv = conv2d_grad_input_onednn_convolution_of(query);
  set_formats_conv2d_grad_input_onednn(conv, choice);
  const auto pd = describe_conv2d_grad_input_onednn(conv);
  return std::make_unique<PrimitiveKernel>(dnnl::convolution_backward_data(pd),
                                           with_scratchpad(pd,
                                                           {{DNNL_ARG_DIFF_DST, conv.y_desc(), Argument::input, 0},
                                                            {DNNL_ARG_WEIGHTS, conv.weight_desc(), Argument::input, 1},
                                                            {DNNL_ARG_DIFF_SRC, conv.x_desc(), Argument::output, 0}},
                                                           choice.scratch_bytes));
}

}  // namespace

std::vector<KernelDef> conv2d_grad_input_kernels() {
  return {{"onednn.conv2d_grad_input",
           {"conv2d_grad_input"},
           propose_conv2d_grad_input_onednn,
           make_conv2d_grad_input_onednn,
           /*mixes_halves=*/true}};
}

}  // namespace partita
