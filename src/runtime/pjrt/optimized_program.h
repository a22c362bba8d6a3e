#pragma once
// Facts of an optimised program.

#include <optional>

#include "runtime/pjrt/plugin.h"

namespace partita::pjrt {

/// Numbers of instructions of an optimised program that become kernels or calls of a library.
struct KernelCounts {
  int64_t fused = 0;    // fusions that are not a part of another one
  int64_t library = 0;  // custom calls outside of fusions, such as products of cuBLAS
  /// Both of them as often as a run executes them: in the body of a loop once for each pass, and in the branches of a
  /// case those of the longest one.
  int64_t executed = 0;
  int64_t unknown_loops = 0;  // loops whose number of passes the program does not say; each counts as one pass
  bool operator==(const KernelCounts&) const = default;
};

/// Returns the HloModuleProto of a program of the format "hlo", or "hlo_with_config" (where it is the first field);
/// nothing for other formats and malformed bytes.
std::optional<std::string_view> hlo_module(const Optimized& program);

/// Counts kernels in a program. Returns nothing for one that has no `hlo_module`, or whose module is malformed.
std::optional<KernelCounts> count_kernels(const Optimized& program);

}  // namespace partita::pjrt
