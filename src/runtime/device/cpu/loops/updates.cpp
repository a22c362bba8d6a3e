// The updates of the optimizers: one pass over weight, gradient and optimizer state, in the weight's memory format.

#include "ir/ops/registry.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

UpdateLoop update_of(const KernelQuery& query) { return all_ops().at(query.op).update(query.attrs); }

KernelChoice propose_update(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  const UpdateLoop update = update_of(query);
  const MemoryFormat format = query.input_formats[0].any() ? MemoryFormat{} : query.input_formats[0];
  KernelChoice choice{.kernel = "loops." + query.op,
                      .inputs = std::vector<MemoryFormat>(query.inputs.size(), MemoryFormat{}),
                      .outputs = std::vector<MemoryFormat>(query.outputs.size(), format)};
  std::fill_n(choice.inputs.begin(), update.tensors, format);
  choice.in_place = update.in_place;
  return choice;
}

std::unique_ptr<Kernel> make_update(const KernelQuery& query, const KernelChoice& choice) {
  static constexpr int64_t kBlock = 4096;  // a lambda reads it
  const UpdateLoop update = update_of(query);
  const int64_t count = stored_elements(query.outputs[0], choice.outputs[0]);
  const UpdateLoop::Run& run = query.outputs[0].dtype == DType::f64 ? update.f64 : update.f32;
  return make_loop([run, count](auto in, auto out, void*) {
#pragma omp parallel for if (count > kSerialElements)
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      run(in, out, begin, std::min(begin + kBlock, count));
    }
  });
}

}  // namespace

std::vector<KernelDef> updates_kernels() {
  std::vector<KernelDef> kernels;
  for (const OpDef& op : all_ops().all()) {
    if (op.update) kernels.push_back({"loops." + op.name, {op.name}, propose_update, make_update});
  }
  return kernels;
}

}  // namespace partita
