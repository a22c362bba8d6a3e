#pragma once
// Maps: functions on one value of a column, with a type rule and a kernel.

#include <memory>
#include <vector>

#include "base/shape.h"

namespace partita {

/// The row that a value belongs to; augmentation draws by it.
struct RowKey {
  int64_t epoch = 0;
  int64_t sample = 0;
};

class ValueMap;
using ValueMapPtr = std::shared_ptr<const ValueMap>;

/// A function on one value.
class ValueMap {
 public:
  virtual ~ValueMap() = default;
  /// Returns the type of the result. Throws InvalidArgument if a value of type `in` cannot be mapped.
  virtual Type type(const Type& in) const = 0;
  /// Maps `in` to `out`, which has the type that `type` returns and does not overlap `in`. Thread-safe. May throw
  /// InvalidArgument for single values (`one_hot`).
  virtual void apply(const ConstTensor& in, const Tensor& out, const RowKey& key) const = 0;
  /// Whether mapped numbers keep their integer part, except where the type of the result cannot hold it; false by
  /// default.
  virtual bool keeps_integers() const { return false; }
  /// Returns this map followed by `next` as a single pass, or null, as by default, if they do not combine.
  virtual ValueMapPtr fuse(const ValueMap& next) const { return (void)next, nullptr; }
};

/// Returns one map that applies `maps` in their order; neighbours that combine become one pass. Throws InvalidArgument
/// for an empty list.
ValueMapPtr chain(const std::vector<ValueMapPtr>& maps);

/// Returns `value` mapped by `map`, for a single array outside a dataset; `key` is the row by which augmentation draws.
/// Throws InvalidArgument if the map does not take its type or one of its elements.
Array apply(const ValueMap& map, const Array& value, const RowKey& key = {});

}  // namespace partita
