#pragma once
// Kernels of a device: an ordered list per op, most special first, the reference last.

#include <functional>
#include <memory>
#include <span>

#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// A kernel bound to shapes, attributes and memory formats: made once per schedule, run every step.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// `scratch` has the bytes that the choice asked for, aligned to 64. Nothing is allocated.
  virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) = 0;
};

/// The answer of `propose` to what it cannot take.
inline KernelChoice refuse(std::string reason) {
  KernelChoice choice;
  choice.reason = std::move(reason);
  return choice;
}

struct KernelDef {
  std::string name;              // "onednn.conv2d"
  std::vector<std::string> ops;  // the ops it serves
  /// Accepts (with `kernel` = name and all memory formats chosen) or refuses with a reason, naming the value
  /// that it cannot take: "f64 is not supported".
  std::function<KernelChoice(const KernelQuery&)> propose;
  /// A kernel for exactly the memory formats of `choice`, an earlier answer of `propose`; the types may be
  /// those of another rank, as long as the memory formats fit. Scratch bytes beyond the choice's are an error.
  std::function<std::unique_ptr<Kernel>(const KernelQuery&, const KernelChoice&)> make;
};

}  // namespace partita
