#include "runtime/device/cpu/reference.h"

#include <algorithm>

namespace partita {
namespace {

class Reference final : public Kernel {
 public:
  Reference(const OpDef& op, const KernelQuery& query) : op_(op), attrs_(query.attrs) {
    for (const Type& type : query.inputs) inputs_.push_back({type, nullptr});
    for (const Type& type : query.outputs) outputs_.push_back({type, nullptr});
  }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void*) override {
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = inputs[i];
    for (size_t k = 0; k < outputs_.size(); ++k) outputs_[k].data = outputs[k];
    op_.kernel(attrs_, inputs_, outputs_);
  }

 private:
  const OpDef& op_;
  Attrs attrs_;
  std::vector<ConstTensor> inputs_;
  std::vector<Tensor> outputs_;
};

/// Whether operands or results have 16 bits next to wider ones, although the op has one type. The reference computes in
/// the types that the op infers.
bool mixes_types(const OpDef& op, const KernelQuery& query) {
  if (op.traits.is_conversion || !mixes_halves(query)) return false;
  try {
    const std::vector<Type> own = op.infer({query.attrs, query.inputs, {}});
    return !std::equal(own.begin(), own.end(), query.outputs.begin(), query.outputs.end(),
                       [](const Type& a, const Type& b) { return a.dtype == b.dtype; });
  } catch (const InvalidArgument&) {
    return true;
  }
}

}  // namespace

KernelChoice propose_reference(const OpDef& op, const KernelQuery& query) {
  if (mixes_types(op, query)) return refuse("it computes in one type");
  KernelChoice choice{.kernel = "reference",
                      .inputs = std::vector<MemoryFormat>(query.inputs.size()),
                      .outputs = std::vector<MemoryFormat>(query.outputs.size())};
  if (op.pointwise && std::ranges::all_of(query.inputs, [&](const Type& type) { return type == query.outputs[0]; })) {
    choice.in_place = {{0, 0}};
  }
  return choice;
}

std::unique_ptr<Kernel> make_reference(const OpDef& op, const KernelQuery& query) {
  PARTITA_CHECK(!mixes_types(op, query), "the reference of {} with several types", op.name);
  return std::make_unique<Reference>(op, query);
}

}  // namespace partita
