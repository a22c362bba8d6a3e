#pragma once
// The arguments of OpDef::emit, and the operations that emissions share.

#include "base/op_call.h"
#include "ir/graph/hlo.h"

namespace partita {

/// A node on one shard that writes itself into `body`. Types are local.
struct EmitCall {
  HloBody& body;
  const Attrs& attrs;
  const std::vector<Hlo>& inputs;
  const std::vector<Type>& outputs;
  /// Where the shard begins on the rank that runs the program, as scalars of i64, if ranks share it and differ in that
  /// (`OpTraits::take_place`); null: where `attrs` says.
  const std::vector<Hlo>* begins = nullptr;

  /// Whether `own`, where the shard begins by the attributes, is 0 on all ranks.
  bool begins_at_0(int64_t own) const { return begins == nullptr && own == 0; }
  /// Returns where the shard begins in every place of a type of numbers: `own` by the attributes, else number `index`
  /// of `begins`.
  Hlo begin(int64_t own, const Type& type, size_t index = 0) const;
  /// Returns `value` in every place. Infinities and NaN are written in the width of the type.
  Hlo splat(double value, const Type& type) const;
  /// Returns an integer in every place of an integer type that holds it.
  Hlo splat_integer(int64_t value, const Type& type) const;
  /// Returns `x` repeated to a shape, aligned at the last dimension, as operands of pointwise ops are.
  Hlo broadcast(const Hlo& x, const Shape& shape) const;
  /// Returns `x` with dimension i as dimension dims[i] of the shape, repeated along the others.
  Hlo broadcast_in(const Hlo& x, const std::vector<int64_t>& dims, const Shape& shape) const;
  /// Returns `x` in another element type: nearest floats, 0 or 1 for bool; floats and integers out of range are as the
  /// target defines.
  Hlo convert(const Hlo& x, DType dtype) const;
  Hlo reshape(const Hlo& x, const Shape& shape) const;
  /// Returns the comparison "EQ", "NE", "LT", "LE", "GT" or "GE" of two values of one type, a bool.
  Hlo compare(std::string_view direction, const Hlo& a, const Hlo& b) const;
  /// Returns `a` where the condition holds, else `b`. All have one shape.
  Hlo select(const Hlo& condition, const Hlo& a, const Hlo& b) const;
  /// Returns the reduction by `op` ("add", "maximum") over dimensions, which the result lacks. It begins with `start`.
  Hlo reduce(const Hlo& x, std::string_view op, const Hlo& start, const std::vector<int64_t>& dims) const;
};

/// Returns a call of no node, whose functions write operations into `body`, which outlives it.
EmitCall call_in(HloBody& body);

}  // namespace partita
