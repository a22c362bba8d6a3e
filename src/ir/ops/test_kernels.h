#pragma once
// Calls of reference kernels, for tests.

#include "ir/ops/registry.h"

namespace partita {

/// Returns the results of the kernel of an op. Throws what its `infer` and its kernel throw.
inline std::vector<Array> run_kernel(const OpDef& op, const Attrs& attrs, const std::vector<Array>& operands) {
  std::vector<Type> types;
  std::vector<ConstTensor> inputs;
  for (const Array& operand : operands) {
    types.push_back(operand.type());
    inputs.push_back(operand.tensor());
  }
  std::vector<Array> results;
  for (const Type& type : op.infer({attrs, types, {}})) results.emplace_back(type);
  std::vector<Tensor> outputs;
  for (Array& result : results) outputs.push_back(result.tensor());
  op.kernel(attrs, inputs, outputs);
  return results;
}

}  // namespace partita
