#pragma once
// Operands of ids and labels: the check that kernels make of them, for those who run an op without its kernel.

#include <functional>
#include <optional>

#include "base/op_call.h"
#include "base/shape.h"

namespace partita {

/// An operand of ids or labels that the kernel checks. Programs of accelerators give zeros for those out of range, so
/// they, or the host, check them by this.
struct IdOperand {
  size_t operand = 0;
  /// Returns the number that all ids have to be below, the same on each rank; none have to be negative. Returns nothing
  /// if this node's are not checked. None: no op of ids.
  std::function<std::optional<int64_t>(const OpCall&)> limit = nullptr;
  /// Checks an id, element `at` of the local operand. Throws the kernel's InvalidArgument if it is out of range.
  std::function<void(const OpCall&, int64_t id, int64_t at)> require = nullptr;
};

/// Checks local ids as the kernel does, whose InvalidArgument it throws for the first one out of range.
void require_ids(const IdOperand& checked, const OpCall& call, ConstTensor ids);

}  // namespace partita
