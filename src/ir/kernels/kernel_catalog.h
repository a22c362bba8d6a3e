#pragma once
// What a device can run, as plain data: the only thing that scheduling knows of hardware.

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/attrs.h"
#include "ir/graph/graph.h"

namespace partita {

/// How the elements of a tensor lie in memory. "plain" is dense row-major; other tags are names that
/// the device gave ("acdb", "aBcd16b"); "any" leaves the choice to the kernel.
struct MemoryFormat {
  std::string tag = "plain";
  int64_t bytes = 0;  // with padding; 0 for "plain" and "any": the dense size

  bool plain() const { return tag == "plain"; }
  bool any() const { return tag == "any"; }
  bool operator==(const MemoryFormat&) const = default;
};

/// Accepts or refuses with a reason.
struct KernelChoice {
  std::string kernel;                         // "onednn.conv2d", "" when refused
  std::string reason;                         // why the more special kernels, or all, refused
  std::vector<MemoryFormat> inputs, outputs;  // memory formats that it needs and makes; never "any"
  int64_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> in_place;  // (input, output) that may share a buffer
  bool view = false;                          // output 0 is the memory of input 0: nothing runs

  bool accepted() const { return !kernel.empty(); }
};

/// One node with its (local) types and the memory formats in which its operands lie now; "any" for an
/// operand whose memory format is still free: a parameter nobody has used, an input before it is filled.
struct KernelQuery {
  std::string op;
  Attrs attrs;
  std::vector<Type> inputs, outputs;
  std::vector<MemoryFormat> input_formats;
  /// The choice for another shard of the node: this kernel in these memory formats, or a refusal.
  std::optional<KernelChoice> like = std::nullopt;
};

/// Whether both choices are of memory formats with the same tags, whatever their bytes.
bool same_formats(const KernelChoice& a, const KernelChoice& b);

class KernelCatalog {
 public:
  virtual ~KernelCatalog() = default;
  /// The most special kernel that takes the query; the reference kernel takes everything. With `like` that kernel
  /// alone.
  virtual KernelChoice choose(const KernelQuery& query) const = 0;
  /// Bytes of a type in a memory format.
  virtual int64_t bytes(const Type& type, const MemoryFormat& format) const = 0;
};

}  // namespace partita
