#include "ir/graph/emit_call.h"

#include <algorithm>
#include <cmath>

namespace partita {
namespace {

/// Returns the text of a number as an element of the type.
std::string literal(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  if (!is_float(dtype)) return fmt::format("{}", static_cast<int64_t>(value));
  if (std::isfinite(value)) return fmt::format("{:.17e}", value);
  const auto bits = [&](std::string_view infinity, std::string_view negative, std::string_view nan) {
    return std::string(std::isnan(value) ? nan : value > 0 ? infinity : negative);
  };
  switch (dtype) {
    case DType::f64: return bits("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000");
    case DType::f16: return bits("0x7C00", "0xFC00", "0x7E00");
    case DType::bf16: return bits("0x7F80", "0xFF80", "0x7FC0");
    default: return bits("0x7F800000", "0xFF800000", "0x7FC00000");
  }
}

const Attrs kNoAttrs;
const std::vector<Hlo> kNoInputs;
const std::vector<Type> kNoOutputs;

std::string list(const std::vector<int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

}  // namespace

Hlo EmitCall::splat(double value, const Type& type) const {
  return body.add(fmt::format("stablehlo.constant dense<{}> : {}", literal(value, type.dtype), hlo_type(type)), type);
}

Hlo EmitCall::splat_integer(int64_t value, const Type& type) const {
  return body.add(fmt::format("stablehlo.constant dense<{}> : {}", value, hlo_type(type)), type);
}

Hlo EmitCall::begin(int64_t own, const Type& type, size_t index) const {
  if (begins == nullptr) {
    return is_float(type.dtype) ? splat(static_cast<double>(own), type) : splat_integer(own, type);
  }
  return broadcast(convert(begins->at(index), type.dtype), type.shape);
}

Hlo EmitCall::broadcast(const Hlo& x, const Shape& shape) const {
  if (x.type.shape == shape) return x;
  std::vector<int64_t> dims;
  const auto first = static_cast<int64_t>(shape.size() - x.type.shape.size());
  for (int64_t d = 0; d < x.type.rank(); ++d) dims.push_back(first + d);
  return broadcast_in(x, dims, shape);
}

Hlo EmitCall::broadcast_in(const Hlo& x, const std::vector<int64_t>& dims, const Shape& shape) const {
  return body.add_typed("stablehlo.broadcast_in_dim", {x}, ", dims = " + list(dims), {x.type.dtype, shape});
}

Hlo EmitCall::convert(const Hlo& x, DType dtype) const {
  if (x.type.dtype == dtype) return x;
  Hlo y = body.add_typed("stablehlo.convert", {x}, "", {dtype, x.type.shape});
  if (is_float(dtype) && !is_half(dtype)) y.half = is_half(x.type.dtype) ? x.type.dtype : x.half;
  return y;
}

Hlo EmitCall::reshape(const Hlo& x, const Shape& shape) const {
  if (x.type.shape == shape) return x;
  Hlo y = body.add_typed("stablehlo.reshape", {x}, "", {x.type.dtype, shape});
  y.half = x.half;
  return y;
}

Hlo EmitCall::compare(std::string_view direction, const Hlo& a, const Hlo& b) const {
  const Type result{DType::boolean, a.type.shape};
  return body.add(fmt::format("stablehlo.compare {}, {}, {} : {} -> {}", direction, a.name, b.name, hlo_types({a, b}),
                              hlo_type(result)),
                  result);
}

Hlo EmitCall::select(const Hlo& condition, const Hlo& a, const Hlo& b) const {
  return body.add(fmt::format("stablehlo.select {}, {}, {} : {}, {}", condition.name, a.name, b.name,
                              hlo_type(condition.type), hlo_type(a.type)),
                  a.type);
}

Hlo EmitCall::reduce(const Hlo& x, std::string_view op, const Hlo& start, const std::vector<int64_t>& dims) const {
  if (dims.empty()) return x;
  Type result{x.type.dtype, {}};
  for (int64_t d = 0; d < x.type.rank(); ++d) {
    if (std::ranges::find(dims, d) == dims.end()) result.shape.push_back(x.type.shape[d]);
  }
  return body.add(fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : {} -> {}",
                              x.name, start.name, op, list(dims), hlo_types({x, start}), hlo_type(result)),
                  result);
}

EmitCall call_in(HloBody& body) { return {body, kNoAttrs, kNoInputs, kNoOutputs}; }

}  // namespace partita
