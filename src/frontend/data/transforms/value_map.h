#pragma once
// A function on one value of a column: its type rule and its kernel.

#include <memory>
#include <vector>

#include "base/shape.h"

namespace partita {

/// Which row a value belongs to; augmentation draws by it.
struct RowKey {
  int64_t epoch = 0;
  int64_t sample = 0;
};

class ValueMap;
using ValueMapPtr = std::shared_ptr<const ValueMap>;

class ValueMap {
 public:
  virtual ~ValueMap() = default;
  /// Throws InvalidArgument when a value of type `in` cannot be mapped.
  virtual Type type(const Type& in) const = 0;
  /// `out` has the type that `type` says and does not overlap `in`. Thread-safe.
  virtual void apply(const ConstTensor& in, const Tensor& out, const RowKey& key) const = 0;
  /// Whether numbers stay what they are once they are cut off, but for what the type of the result cannot hold.
  virtual bool keeps_integers() const { return false; }
  /// This map and then `next` in a single pass, or null when they do not combine.
  virtual ValueMapPtr fuse(const ValueMap& next) const { return (void)next, nullptr; }
};

/// The maps one after another; neighbours that combine become one pass. Throws on an empty list.
ValueMapPtr chain(const std::vector<ValueMapPtr>& maps);

/// The mapped value, for a single array outside of a dataset.
Array apply(const ValueMap& map, const Array& value, const RowKey& key = {});

}  // namespace partita
