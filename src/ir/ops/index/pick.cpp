#include <numeric>

#include "ir/ops/index/attrs.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"

namespace partita {
namespace {

/// Returns where columns begin, begin + 1, .. of `type` have the id of their row, as bools.
Hlo is_column(const EmitCall& call, const Hlo& ids, int64_t begin, const Shape& shape) {
  const Type type{ids.type.dtype, shape};
  const int64_t last = type.rank() - 1;
  std::vector<int64_t> rows(static_cast<size_t>(last));
  std::iota(rows.begin(), rows.end(), 0);
  const Hlo columns = call.body.add(fmt::format("stablehlo.iota dim = {} : {}", last, hlo_type(type)), type);
  const Hlo own =
      call.body.add_same("stablehlo.subtract", {call.broadcast_in(ids, rows, shape), call.splat_integer(begin, type)});
  return call.compare("EQ", columns, own);
}

OpDef pick_op() {
  OpDef op;
  op.name = "pick";
  op.summary = "x[.., label[..]]; 0 for a label without a column";
  op.attrs = Attrs(PickAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("pick", call, 2);
    require_float("pick", call);
    const Type &x = call.inputs[0], &label = call.inputs[1];
    const bool integers = label.dtype == DType::i32 || label.dtype == DType::i64;
    if (!integers || x.shape.empty() || Shape(x.shape.begin(), x.shape.end() - 1) != label.shape) {
      reject("pick", "operands do not fit", print(call.inputs), "rows and one integer label for each");
    }
    if (call.attrs.as<PickAttrs>().begin < 0) reject("pick", "bad begin", call.attrs.print(), "at least 0");
    return {Type{x.dtype, label.shape}};
  };
  op.rule = [](const OpCall& call) { return einsum("..z,..->.. | z:lookup", call).linear_in({0}); };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    return Attrs(PickAttrs{attrs.as<PickAttrs>().begin + shard.inputs[0].back().begin});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const int64_t depth = call.inputs[0].shape().back();
    const Value hot = call.apply(
        "one_hot", {call.inputs[1]},
        OneHotAttrs{.depth = depth, .begin = call.attrs.as<PickAttrs>().begin, .dtype = call.inputs[0].dtype()});
    Shape kept = call.inputs[1].shape();
    kept.push_back(1);
    const Value d = call.apply("reshape", {call.d_outputs[0]}, ReshapeAttrs{.shape = kept});
    return {call.apply("mul", {hot, d}), Value()};
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const Hlo& x = call.inputs[0];
    const Hlo hit = is_column(call, call.inputs[1], call.attrs.as<PickAttrs>().begin, x.type.shape);
    const Hlo rest = call.splat(0, x.type), start = call.splat(0, {x.type.dtype, {}});
    return {call.reduce(call.select(hit, x, rest), "add", start, {x.type.rank() - 1})};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const int64_t columns = in[0].type.shape.back(), begin = attrs.as<PickAttrs>().begin;
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      T* y = out[0].as<T>();
      for_integer(in[1].type.dtype, [&](auto id_zero) {
        const auto* label = in[1].as<decltype(id_zero)>();
        for (int64_t i = 0; i < out[0].type.elements(); ++i) {
          const int64_t id = static_cast<int64_t>(label[i]);
          y[i] = id >= begin && id - begin < columns ? x[i * columns + id - begin] : T{};
        }
      });
    });
  };
  op.samples = {{{sample_of({4, 6}), ids_of({4}, 6)}, Attrs(PickAttrs{})},
                {{sample_of({2, 3, 5}), ids_of({2, 3}, 5)}, Attrs(PickAttrs{})},
                {{sample_of({5, 3}), ids_of({5}, 6)}, Attrs(PickAttrs{2})}};
  return op;
}

std::vector<Hlo> emit_one_hot(const EmitCall& call) {
  const OneHotAttrs& attrs = call.attrs.as<OneHotAttrs>();
  const Type& result = call.outputs[0];
  const Hlo hit = is_column(call, call.inputs[0], attrs.begin, result.shape);
  return {call.select(hit, call.splat(attrs.on_value, result), call.splat(attrs.off_value, result))};
}

/// Checks an id unless there are 0 classes. Throws InvalidArgument for one that has no class.
void require_class(int64_t id, int64_t row, int64_t classes) {
  if (classes == 0 || (id >= 0 && id < classes)) return;
  reject("one_hot", fmt::format("label of row {} is outside the classes", row), fmt::format("{}", id),
         fmt::format("0 to {}", classes - 1), ErrorKind::index);
}

OpDef one_hot_op() {
  OpDef op;
  op.name = "one_hot";
  op.summary = "on_value in the column of the id, off_value elsewhere and for ids without a column";
  op.attrs = Attrs(OneHotAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("one_hot", call, 1);
    const OneHotAttrs& attrs = call.attrs.as<OneHotAttrs>();
    if (call.inputs[0].dtype != DType::i32 && call.inputs[0].dtype != DType::i64) {
      reject("one_hot", "ids are not integers", print(call.inputs[0]), "i32 or i64", ErrorKind::type);
    }
    if (attrs.depth < 1 || attrs.begin < 0 || !is_float(attrs.dtype)) {
      reject("one_hot", "bad attributes", call.attrs.print(),
             "depth of at least 1, begin of at least 0 and a float dtype");
    }
    Type result{attrs.dtype, call.inputs[0].shape};
    result.shape.push_back(attrs.depth);
    require_shape("one_hot", result.shape);
    return {result};
  };
  op.rule = [](const OpCall& call) { return einsum("..->..z", call, {{'z', call.attrs.as<OneHotAttrs>().depth}}); };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    OneHotAttrs local = attrs.as<OneHotAttrs>();
    local.depth = shard.outputs[0].back().count();
    local.begin += shard.outputs[0].back().begin;
    return Attrs(local);
  };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value()}; };
  op.traits.ids = {.operand = 0,
                   .limit = [](const OpCall& call) -> std::optional<int64_t> {
                     const int64_t classes = call.attrs.as<OneHotAttrs>().classes;
                     return classes == 0 ? std::nullopt : std::optional(classes);
                   },
                   .require = [](const OpCall& call, int64_t id,
                                 int64_t row) { require_class(id, row, call.attrs.as<OneHotAttrs>().classes); }};
  op.emit = emit_one_hot;
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const OneHotAttrs& attrs = all.as<OneHotAttrs>();
    for_integer(in[0].type.dtype, [&](auto id_zero) {
      const auto* ids = in[0].as<decltype(id_zero)>();
      for_float(attrs.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
        T* y = out[0].as<T>();
        std::fill_n(y, out[0].type.elements(), T(static_cast<Number>(attrs.off_value)));
        for (int64_t i = 0; i < in[0].type.elements(); ++i) {
          const int64_t id = static_cast<int64_t>(ids[i]);
          require_class(id, i, attrs.classes);
          if (id < attrs.begin || id - attrs.begin >= attrs.depth) continue;
          y[i * attrs.depth + id - attrs.begin] = T(static_cast<Number>(attrs.on_value));
        }
      });
    });
  };
  op.samples = {{{ids_of({4}, 6)}, Attrs(OneHotAttrs{6, 0, 0, 1, 0, DType::f64})},
                {{ids_of({2, 3}, 5)}, Attrs(OneHotAttrs{5, 0, 5, 0.9, 0.1, DType::f64})},
                {{ids_of({5}, 7)}, Attrs(OneHotAttrs{4, 2, 0, 1, 0, DType::f64})}};
  return op;
}

}  // namespace

std::vector<OpDef> pick_ops() { return {pick_op(), one_hot_op()}; }

}  // namespace partita
