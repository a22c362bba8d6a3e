#pragma once
// Kernels of a device: an ordered list per op, most specialized first, the reference kernel last.

#include <functional>
#include <memory>
#include <span>

#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// A kernel bound to shapes, attributes and memory formats. It is made once per schedule and runs every step.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs the kernel. Pointers are in the order of the query's operands and results, in the memory formats of the
  /// choice. `scratch` has the bytes that the choice requested, aligned to 64. Throws KernelErrors, and InternalError
  /// if a library fails otherwise.
  virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) = 0;
};

/// Returns a choice without a kernel, with this reason: the result of `propose` for a query that the kernel does not
/// support.
inline KernelChoice refuse(std::string reason) {
  KernelChoice choice;
  choice.reason = std::move(reason);
  return choice;
}

struct KernelDef {
  std::string name;              // "onednn.conv2d"
  std::vector<std::string> ops;  // ops that it implements
  /// Accepts a query (`kernel` = name, all memory formats chosen), or refuses it with a reason that names the
  /// unsupported value: "f64 is not supported". Throws RuntimeFailure(out_of_memory) if a library lacks memory.
  std::function<KernelChoice(const KernelQuery&)> propose;
  /// Makes a kernel for exactly the memory formats of `choice`, an earlier result of `propose`. The types may be those
  /// of another rank if the memory formats fit. Throws InternalError if the kernel needs more scratch than the choice
  /// says, dnnl::error if oneDNN fails.
  std::function<std::unique_ptr<Kernel>(const KernelQuery&, const KernelChoice&)> make;
  /// Whether `propose` is asked for 16-bit floats next to wider ones. Other kernels compute in one type.
  bool mixes_halves = false;
};

}  // namespace partita
