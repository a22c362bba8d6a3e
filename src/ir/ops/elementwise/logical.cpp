#include "ir/ops/support.h"

namespace partita {
namespace {

/// Infers the broadcast of `count` operands, all of them bool. Throws InvalidArgument for another number or type of
/// operands and shapes that do not broadcast.
inline std::vector<Type> infer_logical(std::string_view op, const OpCall& call, size_t count) {
  require_operands(op, call, count);
  for (const Type& type : call.inputs) {
    if (type.dtype != DType::boolean) reject(op, "operands are not bool", print(call.inputs), "bool", ErrorKind::type);
  }
  return infer_pointwise(op, call);
}

/// Returns the op whose result is fn(a, b) over the broadcast of both.
template <class Fn>
OpDef logical_op(const char* name, const char* summary, const char* hlo, Fn fn) {
  OpDef op;
  op.emit = [hlo](const EmitCall& call) -> std::vector<Hlo> {
    const Shape& shape = call.outputs[0].shape;
    return {call.body.add_same(hlo, {call.broadcast(call.inputs[0], shape), call.broadcast(call.inputs[1], shape)})};
  };
  op.name = name;
  op.summary = summary;
  op.infer = [name](const OpCall& call) { return infer_logical(name, call, 2); };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value(), Value()}; };
  op.kernel = [fn](const Attrs&, Inputs in, Outputs out) {
    const bool *a = in[0].as<bool>(), *b = in[1].as<bool>();
    bool* y = out[0].as<bool>();
    const Shape& shape = out[0].type.shape;
    const std::array<Shape, 2> strides{broadcast_strides(in[0].type.shape, shape),
                                       broadcast_strides(in[1].type.shape, shape)};
    for_broadcast<2>(shape, strides,
                     [&](int64_t i, const std::array<int64_t, 2>& at) { y[i] = fn(a[at[0]], b[at[1]]); });
  };
  const auto sample = [](Shape shape) { return SampleInput{{DType::boolean, std::move(shape)}, {Fill::boolean, 0}}; };
  op.samples = {{{sample({4, 6}), sample({4, 6})}}, {{sample({3, 4}), sample({4})}}};
  return op;
}

OpDef logical_and_op() {
  return logical_op("logical_and", "a and b, broadcast", "stablehlo.and", [](bool a, bool b) { return a && b; });
}

OpDef logical_or_op() {
  return logical_op("logical_or", "a or b, broadcast", "stablehlo.or", [](bool a, bool b) { return a || b; });
}

OpDef logical_not_op() {
  OpDef op;
  op.name = "logical_not";
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    return {call.body.add_same("stablehlo.not", {call.inputs[0]})};
  };
  op.summary = "true where x is false";
  op.infer = [](const OpCall& call) { return infer_logical("logical_not", call, 1); };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value()}; };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const bool* x = in[0].as<bool>();
    bool* y = out[0].as<bool>();
    for (int64_t i = 0; i < out[0].type.elements(); ++i) y[i] = !x[i];
  };
  op.samples = {{{SampleInput{{DType::boolean, {4, 6}}, {Fill::boolean, 0}}}}};
  return op;
}

}  // namespace

std::vector<OpDef> logical_ops() { return {logical_and_op(), logical_or_op(), logical_not_op()}; }

}  // namespace partita
