#include "runtime/device/cpu/onednn/convolution.h"

namespace partita {
namespace {

/// A tensor of a convolution in an op: an operand, or the result, and its name in the primitive.
struct ConvolutionTensor {
  int operand;  // kConvolutionResult: it is the result
  int argument;

  /// Returns the element of this tensor.
  template <class T>
  T& in(std::vector<T>& operands, std::vector<T>& results) const {
    return operand < 0 ? results[0] : operands[static_cast<size_t>(operand)];
  }
  template <class T>
  const T& in(const std::vector<T>& operands, const std::vector<T>& results) const {
    return operand < 0 ? results[0] : operands[static_cast<size_t>(operand)];
  }
};
constexpr int kConvolutionResult = -1;

/// A convolution or one of its gradients.
struct ConvolutionOp {
  std::string name;
  const Conv2dAttrs& (*attrs)(const Attrs&);
  ConvolutionTensor x, weight, y;

  Convolution convolution(const KernelQuery& query) const {
    const auto type = [&](const ConvolutionTensor& tensor) { return tensor.in(query.inputs, query.outputs); };
    return make_convolution(attrs(query.attrs), type(x), type(weight), type(y));
  }
  void set_formats(Convolution& conv, const KernelChoice& choice) const {
    conv.x_format = x.in(choice.inputs, choice.outputs);
    conv.weight_format = weight.in(choice.inputs, choice.outputs);
    conv.y_format = y.in(choice.inputs, choice.outputs);
  }
};

/// Returns the kernel of an op by a primitive, whose description `describe` returns.
template <class Primitive, class Describe>
KernelDef convolution_kernel(const ConvolutionOp& op, const Describe& describe) {
  const auto propose = [=](const KernelQuery& query) {
    if (std::string reason = unsupported_product_by_onednn(query); !reason.empty()) return refuse(reason);
    Convolution conv = op.convolution(query);
    if (query.like) op.set_formats(conv, *query.like);
    const std::vector<MemoryFormat> plain(1);
    const auto scratch = query.like ? scratch_of(conv, describe)
                                    : choose_formats(conv, op.x.in(query.input_formats, plain),
                                                     op.y.in(query.input_formats, plain), describe);
    if (const auto* reason = std::get_if<std::string>(&scratch)) return refuse(*reason);
    KernelChoice choice;
    choice.kernel = "onednn." + op.name;
    choice.inputs.resize(2);
    choice.outputs.resize(1);
    op.x.in(choice.inputs, choice.outputs) = conv.x_format;
    op.weight.in(choice.inputs, choice.outputs) = conv.weight_format;
    op.y.in(choice.inputs, choice.outputs) = conv.y_format;
    choice.scratch_bytes = std::get<int64_t>(scratch);
    return choice;
  };
  const auto make = [=](const KernelQuery& query, const KernelChoice& choice) -> std::unique_ptr<Kernel> {
    Convolution conv = op.convolution(query);
    op.set_formats(conv, choice);
    const auto pd = describe(conv);
    const auto argument = [](const ConvolutionTensor& tensor, Desc desc) -> Argument {
      if (tensor.operand < 0) return {tensor.argument, std::move(desc), Argument::output, 0};
      return {tensor.argument, std::move(desc), Argument::input, tensor.operand};
    };
    const std::vector<Argument> arguments{argument(op.x, conv.x_desc()), argument(op.weight, conv.weight_desc()),
                                          argument(op.y, conv.y_desc())};
    return std::make_unique<PrimitiveKernel>(Primitive(pd), with_scratchpad(pd, arguments, choice.scratch_bytes));
  };
  return {"onednn." + op.name, {op.name}, propose, make, /*mixes_halves=*/true};
}

template <class A>
const Conv2dAttrs& conv2d_attrs(const Attrs& attrs) {
  return attrs.as<A>();
}

}  // namespace

std::vector<KernelDef> conv2d_kernels() {
  const ConvolutionOp forward{"conv2d",
                              conv2d_attrs<Conv2dAttrs>,
                              {0, DNNL_ARG_SRC},
                              {1, DNNL_ARG_WEIGHTS},
                              {kConvolutionResult, DNNL_ARG_DST}};
  const ConvolutionOp grad_input{"conv2d_grad_input",
                                 conv2d_attrs<Conv2dGradInputAttrs>,
                                 {kConvolutionResult, DNNL_ARG_DIFF_SRC},
                                 {1, DNNL_ARG_WEIGHTS},
                                 {0, DNNL_ARG_DIFF_DST}};
  const ConvolutionOp grad_filter{"conv2d_grad_filter",
                                  conv2d_attrs<Conv2dGradFilterAttrs>,
                                  {0, DNNL_ARG_SRC},
                                  {kConvolutionResult, DNNL_ARG_DIFF_WEIGHTS},
                                  {1, DNNL_ARG_DIFF_DST}};
  return {
      convolution_kernel<dnnl::convolution_forward>(forward, [](const Convolution& conv) { return conv.forward(); }),
      convolution_kernel<dnnl::convolution_backward_data>(grad_input,
                                                          [](const Convolution& conv) { return conv.backward_data(); }),
      convolution_kernel<dnnl::convolution_backward_weights>(
          grad_filter, [](const Convolution& conv) { return conv.backward_weights(); })};
}

}  // namespace partita
