#pragma once
// What the fast kernels are tried on.

#include "harness.h"
#include "runtime/device/kernel.h"

namespace partita::laws {

/// The kernels of oneDNN and of loops.
const std::vector<KernelDef>& fast_kernels();

struct NamedCase {
  std::string name;
  Case node;
};

/// A case with its floats in another type; the last operands keep theirs where the op asks for f64 sums.
Case cast_floats(const OpDef& op, const Attrs& attrs, const std::vector<Array>& inputs, DType dtype);

/// Cases of every op that a fast kernel lists, in f32 and f64: its samples, and sizes that kernels treat specially.
const std::vector<NamedCase>& all_cases();

}  // namespace partita::laws
