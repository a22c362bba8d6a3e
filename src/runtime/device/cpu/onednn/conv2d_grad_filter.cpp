#include "ir/ops/conv/conv2d.h"
#include "runtime/device/cpu/onednn/convolution.h"

namespace partita {
namespace {

Convolution conv2d_grad_filter_onednn_convolution_of(const KernelQuery& query) {
  return make_convolution(query.attrs.as<Conv2dGradFilterAttrs>(), query.inputs[0], query.outputs[0], query.inputs[1]);
}

void set_formats_conv2d_grad_filter_onednn(Convolution& conv, const KernelChoice& choice) {
  conv.x_format = choice.inputs[0];
  conv.weight_format = choice.outputs[0];
  conv.y_format = choice.inputs[1];
}

auto describe_conv2d_grad_filter_onednn(const Convolution& conv) { return conv.backward_weights(); }

KernelChoice propose_conv2d_grad_filter_onednn(const KernelQuery& query) {
  if (std::string reason = unsupported_product_by_onednn(query); !reason.empty()) return refuse(reason);
  Convolution conv = conv2d_grad_filter_onednn_convolution_of(query);
  if (query.like) set_formats_conv2d_grad_filter_onednn(conv, *query.like);
  const auto scratch = query.like ? scratch_of(conv, describe_conv2d_grad_filter_onednn)
                                  : choose_formats(conv, query.input_formats[0], query.input_formats[1],
                                                   describe_conv2d_grad_filter_onednn);
  if (const auto* reason = std::get_if<std::string>(&scratch)) return refuse(*reason);
  KernelChoice choice;
  choice.kernel = "onednn.conv2d_grad_filter";
  choice.inputs = {conv.x_format, conv.y_format};
  choice.outputs = {conv.weight_format};
  choice.scratch_bytes = std::get<int64_t>(scratch);
  return choice;
}

std::unique_ptr<Kernel> make_conv2d_grad_filter_onednn(const KernelQuery& query, const KernelChoice& choice) {
  Convolution conv = conv2d_grad_filter_onednn_convolution_of(query);
  set_formats_conv2d_grad_filter_onednn(conv, choice);
  const auto pd = describe_conv2d_grad_filter_onednn(conv);
  return std::make_unique<PrimitiveKernel>(
      dnnl::convolution_backward_weights(pd),
      with_scratchpad(pd,
                      {{DNNL_ARG_SRC, conv.x_desc(), Argument::input, 0},
                       {DNNL_ARG_DIFF_DST, conv.y_desc(), Argument::input, 1},
                       {DNNL_ARG_DIFF_WEIGHTS, conv.weight_desc(), Argument::output, 0}},
                      choice.scratch_bytes));
}

}  // namespace

std::vector<KernelDef> conv2d_grad_filter_kernels() {
  return {{"onednn.conv2d_grad_filter",
           {"conv2d_grad_filter"},
           propose_conv2d_grad_filter_onednn,
           make_conv2d_grad_filter_onednn,
           /*mixes_halves=*/true}};
}

}  // namespace partita
