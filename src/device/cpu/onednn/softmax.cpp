#include "device/cpu/onednn/engine.h"

namespace partita {
namespace {

#if DNNL_VERSION_MAJOR >= 3
using SoftmaxForward = dnnl::softmax_forward;
#else
using SoftmaxForward = dnnl::softmax_v2_forward;
#endif

/// Rows along the last dimension, of softmax or of log_softmax.
auto describe_it(const KernelQuery& query) {
  const Type& type = query.inputs[0];
  const int64_t size = type.shape.back();
  const Desc rows = plain_desc({type.elements() / size, size});
  const auto algorithm = query.op == "softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log;
  constexpr int kAxis = 1;
  return describe<SoftmaxForward>(dnnl::prop_kind::forward_training, algorithm, rows, rows, kAxis);
}

KernelChoice propose(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  KernelChoice choice;
  try {
    choice.scratch_bytes = scratchpad_bytes(describe_it(query));
  } catch (const dnnl::error& error) {
    return refuse(fmt::format("oneDNN has no such softmax: {}", error.what()));
  }
  choice.kernel = "onednn.softmax";
  choice.inputs = {Layout{}};
  choice.outputs = {Layout{}};
  choice.in_place = {{0, 0}};
  return choice;
}

std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) {
  const auto pd = describe_it(query);
  return std::make_unique<PrimitiveKernel>(
      SoftmaxForward(pd),
      with_scratchpad(
          pd, {{DNNL_ARG_SRC, pd.src_desc(), Argument::input, 0}, {DNNL_ARG_DST, pd.dst_desc(), Argument::output, 0}},
          choice.scratch_bytes));
}

}  // namespace

KernelDef softmax_kernel() { return {"onednn.softmax", {"softmax", "log_softmax"}, propose, make}; }

}  // namespace partita
