#pragma once
// The kernels of a device as plain data: all that scheduling knows about hardware.

#include <optional>
#include <utility>

#include "base/attrs.h"
#include "ir/graph/graph.h"

namespace partita {

/// How the elements of a tensor lie in memory. "plain" is dense row-major; "any" leaves the choice to the kernel; other
/// tags are names given by the device ("acdb", "aBcd16b").
struct MemoryFormat {
  std::string tag = "plain";
  int64_t bytes = 0;  // with padding; 0 = the dense size, for "plain" and "any"

  bool plain() const { return tag == "plain"; }
  bool any() const { return tag == "any"; }
  bool operator==(const MemoryFormat&) const = default;
};

/// The kernel that runs a node, or a refusal with its reason.
struct KernelChoice {
  std::string kernel;                         // "onednn.conv2d"; "" if refused
  std::string reason;                         // why more specialized kernels, or all, refused
  std::vector<MemoryFormat> inputs, outputs;  // required and produced memory formats; never "any"
  int64_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> in_place;  // (input, output) pairs that may share a buffer
  bool view = false;                          // output 0 is the memory of input 0: nothing runs
  bool rounds = false;  // results that may have 16 bits (OpTraits::halves) have no more digits, also in a wider type
  bool rounds_parts = false;  // it `rounds`, and may do so with parts of a sum

  bool accepted() const { return !kernel.empty(); }
};

/// One node with its (local) types and the current memory formats of its operands. "any" marks an operand whose format
/// is still free: a parameter not used yet, or an input before it is filled.
struct KernelQuery {
  std::string op;
  Attrs attrs;
  std::vector<Type> inputs, outputs;
  std::vector<MemoryFormat> input_formats;
  /// The choice made for another shard of the node. The answer is this kernel in these memory formats, or a refusal.
  std::optional<KernelChoice> like = std::nullopt;
};

/// Whether the operands and results have both 16-bit and wider floats.
bool mixes_halves(const KernelQuery& query);

/// Whether both choices have memory formats with the same tags. Their bytes may differ.
bool same_formats(const KernelChoice& a, const KernelChoice& b);

/// The kernels that a device offers.
class KernelCatalog {
 public:
  virtual ~KernelCatalog() = default;
  /// Returns the most specialized kernel that accepts the query; the reference kernel accepts everything. If `like` is
  /// set, only that kernel is tried, and the choice may be a refusal. Throws RuntimeFailure(out_of_memory) if a library
  /// of the device lacks memory.
  virtual KernelChoice choose(const KernelQuery& query) const = 0;
  /// Returns the bytes of a tensor of this type in a memory format. Throws InvalidArgument or InternalError for a
  /// format that the device does not have for the type.
  virtual int64_t bytes(const Type& type, const MemoryFormat& format) const = 0;
};

}  // namespace partita
