#pragma once
// Attributes and helpers of the ops of this folder.

#include "base/fields.h"
#include "base/shape.h"

namespace partita {

/// `key`: the 64-bit key of the stream of random numbers. `whole` and `begin`: the global shape, and where this part of
/// it starts; both empty if the operand is the whole.
struct DropoutAttrs {
  double rate = 0.5;
  int64_t key = 0;
  std::vector<int64_t> whole, begin;
  static constexpr auto fields() {
    using A = DropoutAttrs;
    return std::tuple{field("rate", &A::rate), field("key", &A::key), field("whole", &A::whole),
                      field("begin", &A::begin)};
  }
};

struct RandomAttrs {
  std::string distribution = "uniform";
  int64_t key = 0;
  DType dtype = DType::f32;
  std::vector<int64_t> shape, whole, begin;
  static constexpr auto fields() {
    using A = RandomAttrs;
    return std::tuple{field("distribution", &A::distribution),
                      field("key", &A::key),
                      field("dtype", &A::dtype),
                      field("shape", &A::shape),
                      field("whole", &A::whole),
                      field("begin", &A::begin)};
  }
};

/// Returns the global row-major index of the first element of each row (the last dimension) of a part of a tensor, in
/// order. `part` is its shape; `whole` and `begin` are as in DropoutAttrs.
std::vector<int64_t> first_elements(const Shape& part, const std::vector<int64_t>& whole,
                                    const std::vector<int64_t>& begin);

}  // namespace partita
