#include "ir/ops/support.h"

#include <algorithm>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/shape/attrs.h"

namespace partita {

std::optional<int> degree_of_first(const Attrs&, const std::vector<int>& degrees) { return degrees.front(); }

std::optional<int> degree_of_all(const Attrs&, const std::vector<int>& degrees) {
  const bool is_common = std::equal(degrees.begin() + 1, degrees.end(), degrees.begin());
  return is_common ? std::optional(degrees.front()) : std::nullopt;
}

std::optional<int> highest_degree(const Attrs&, const std::vector<int>& degrees) {
  return *std::ranges::max_element(degrees);
}

void require_number(std::string_view op, const Type& type) {
  if (type.dtype != DType::boolean) return;
  reject(op, "operands are not numbers", print(type), "a float or an integer type", ErrorKind::type);
}

void require_types(std::string_view op, const OpCall& call, size_t first, const std::vector<Type>& expected) {
  const std::vector<Type> got(call.inputs.begin() + static_cast<std::ptrdiff_t>(first), call.inputs.end());
  if (got == expected) return;
  reject(op, fmt::format("operands from {} on do not fit x {}", first, print(call.inputs[0])), print(got),
         print(expected));
}

void require_axis(std::string_view op, const OpCall& call, int64_t axis) {
  if (axis >= 0 && axis < call.inputs[0].rank()) return;
  reject(op, "axis is outside the tensor", fmt::format("axis {} of {}", axis, print(call.inputs[0])),
         "at least 0 and less than the number of dimensions", ErrorKind::index);
}

ShardingRule whole_along(const OpCall& call, int64_t axis) {
  ShardingRule rule = pointwise_rule(call);
  for (int factor : rule.outputs[0][axis].factors) rule.factors[factor].cutting = Cutting::whole;
  return rule;
}

std::vector<Value> no_gradients(const GradCall& call) { return std::vector<Value>(call.inputs.size()); }

Shape broadcast(std::string_view op, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= shape.size(); ++back) {
    const int64_t size_a = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t size_b = back <= b.size() ? b[b.size() - back] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      reject(op, "shapes do not broadcast", print(a) + " and " + print(b), "equal sizes or 1 from the right");
    }
    shape[shape.size() - back] = size_a == 1 ? size_b : size_a;
  }
  return shape;
}

std::vector<Type> infer_pointwise(std::string_view op, const OpCall& call) {
  Shape shape = call.inputs[0].shape;
  for (const Type& type : call.inputs) shape = broadcast(op, shape, type.shape);
  return {Type{call.inputs[0].dtype, shape}};
}

Value to_dtype(const BuildCall& call, Value x, DType dtype) {
  return x.dtype() == dtype ? x : call.apply("cast", {x}, CastAttrs{.dtype = dtype});
}

Value added(const BuildCall& call, Value sum, Value d) { return sum ? call.apply("add", {sum, d}) : d; }

Value sum_to(const GradCall& call, Value d, const Type& target) {
  if (d.shape() == target.shape) return d;
  const int lead = d.type().rank() - target.rank();
  std::vector<int64_t> axes;
  for (int dim = 0; dim < d.type().rank(); ++dim) {
    if (dim < lead || (target.shape[dim - lead] == 1 && d.shape()[dim] != 1)) axes.push_back(dim);
  }
  if (!axes.empty()) {
    d = call.apply("reduce", {d}, ReduceAttrs{.kind = Reduce::sum, .axes = axes, .keep_dims = true});
  }
  if (d.shape() != target.shape) {
    d = call.apply("reshape", {d}, ReshapeAttrs{.shape = target.shape});
  }
  return d;
}

Shape broadcast_strides(const Shape& shape, const Shape& out) {
  const Shape own = strides_of(shape);
  Shape strides(out.size(), 0);
  const size_t lead = out.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) strides[lead + d] = shape[d] == 1 ? 0 : own[d];
  return strides;
}

}  // namespace partita
