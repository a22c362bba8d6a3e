#pragma once
// The last entry of every list of kernels: the plain loops of the op's own definition.

#include "ir/graph/op_def.h"
#include "runtime/device/kernel.h"

namespace partita {

/// Takes every query; all operands plain. A formula reads an element of each operand before it writes the result's, so
/// that it works in place where all have one type.
KernelChoice propose_reference(const OpDef& op, const KernelQuery& query);
std::unique_ptr<Kernel> make_reference(const OpDef& op, const KernelQuery& query);

}  // namespace partita
