#pragma once
// The last entry of every list of kernels: the plain loops of the op's own definition.

#include "ir/graph/op_def.h"
#include "runtime/device/kernel.h"

namespace partita {

/// Accepts every query but a product that mixes types of floats, with all operands in the plain format. A pointwise op
/// reads an element of each operand before it writes that of the result, so it works in place if all operands have the
/// type of the result.
KernelChoice propose_reference(const OpDef& op, const KernelQuery& query);
/// Makes the reference kernel of `op` for the attributes and types of `query`. `op` outlives it. Throws
/// InternalError for a product that mixes types of floats.
std::unique_ptr<Kernel> make_reference(const OpDef& op, const KernelQuery& query);

}  // namespace partita
