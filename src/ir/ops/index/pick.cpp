#include <numeric>

#include "ir/ops/index/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"

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
      call.body.add_same("stablehlo.subtract", {call.broadcast_in(ids, rows, shape), call.begin(begin, type)});
  return call.compare("EQ", columns, own);
}

void run_pick(const Attrs& attrs, Inputs in, Outputs out) {
  const int64_t columns = in[0].type.shape.back(), begin = attrs.as<PickAttrs>().begin;
  const std::vector<int64_t> labels = read_ids(in[1]);
  for_element_size(in[0].type.dtype, [&](auto zero) {
    const auto* x = static_cast<const decltype(zero)*>(in[0].data);
    auto* y = static_cast<decltype(zero)*>(out[0].data);
    for (size_t i = 0; i < labels.size(); ++i, x += columns) {
      y[i] = labels[i] >= begin && labels[i] - begin < columns ? x[labels[i] - begin] : zero;
    }
  });
}

OpDef pick_op() {
  OpDef op =
      new_op("pick", "x[.., label[..]]; 0 for a label without a column", {.count = 2, .floats = {0}}, PickAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Type &x = call.inputs[0], &label = call.inputs[1];
    const bool integers = label.dtype == DType::i32 || label.dtype == DType::i64;
    if (!integers || x.shape.empty() || Shape(x.shape.begin(), x.shape.end() - 1) != label.shape) {
      reject("pick", "operands do not fit", print(call.inputs), "rows and one integer label for each");
    }
    if (call.attrs.as<PickAttrs>().begin < 0) reject("pick", "bad begin", call.attrs.print(), "at least 0");
    return {Type{x.dtype, label.shape}};
  };
  op.rule = [](const OpCall& call) { return einsum("..z,..->.. | z:lookup", call).linear_in({0}); };
  op.localize = localized<PickAttrs>(localize_first_column);
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
  op.traits.take_place = takes_begin<PickAttrs>();
  op.flops_per_point = 0;
  op.kernel = run_pick;
  op.samples = {{{sample_of({4, 6}), ids_of({4}, 6)}, PickAttrs{}},
                {{sample_of({2, 3, 5}), ids_of({2, 3}, 5)}, PickAttrs{}},
                {{sample_of({5, 3}), ids_of({5}, 6)}, PickAttrs{2}}};
  return op;
}

std::vector<Hlo> emit_one_hot(const EmitCall& call) {
  const OneHotAttrs& attrs = call.attrs.as<OneHotAttrs>();
  const Type& result = call.outputs[0];
  const Hlo hit = is_column(call, call.inputs[0], attrs.begin, result.shape);
  return {call.select(hit, call.splat(attrs.on_value, result), call.splat(attrs.off_value, result))};
}

constexpr IdRule kOneHotIds{"one_hot", "label of row {} is outside the classes"};

constexpr auto run_one_hot = []<class T>(const OneHotAttrs& attrs, Inputs in, Outputs out) {
  const std::vector<int64_t> ids = attrs.classes == 0 ? read_ids(in[0]) : kOneHotIds.read(in[0], attrs.classes);
  T* y = out[0].as<T>();
  std::fill_n(y, out[0].type.elements(), static_cast<T>(attrs.off_value));
  for (size_t i = 0; i < ids.size(); ++i, y += attrs.depth) {
    if (ids[i] < attrs.begin || ids[i] - attrs.begin >= attrs.depth) continue;
    y[ids[i] - attrs.begin] = static_cast<T>(attrs.on_value);
  }
};

OpDef one_hot_op() {
  OpDef op = new_op("one_hot", "on_value in the column of the id, off_value elsewhere and for ids without a column",
                    {.count = 1, .integers = {0, "ids"}}, OneHotAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const OneHotAttrs& attrs = call.attrs.as<OneHotAttrs>();
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
  op.localize = localized<OneHotAttrs>([](OneHotAttrs& attrs, const Shard& shard) {
    attrs.depth = shard.outputs[0].back().count();
    attrs.begin += shard.outputs[0].back().begin;
  });
  op.grad = no_gradients;
  op.traits.ids = kOneHotIds.described(0, [](const OpCall& call) -> std::optional<int64_t> {
    const int64_t classes = call.attrs.as<OneHotAttrs>().classes;
    return classes == 0 ? std::nullopt : std::optional(classes);
  });
  op.emit = emit_one_hot;
  op.traits.take_place = takes_begin(&OneHotAttrs::depth);
  op.flops_per_point = 0;
  op.kernel = float_kernel<float, OneHotAttrs>(run_one_hot);
  op.samples = {{{ids_of({4}, 6)}, OneHotAttrs{6, 0, 0, 1, 0, DType::f64}},
                {{ids_of({2, 3}, 5)}, OneHotAttrs{5, 0, 5, 0.9, 0.1, DType::f64}},
                {{ids_of({5}, 7)}, OneHotAttrs{4, 2, 0, 1, 0, DType::f64}}};
  return op;
}

}  // namespace

std::vector<OpDef> pick_ops() { return {pick_op(), one_hot_op()}; }

}  // namespace partita
