#include <algorithm>

#include "base/philox.h"
#include "ir/ops/random/attrs.h"
#include "ir/ops/random/emit_random.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"

namespace partita {
namespace {

double draw(const std::string& distribution, uint64_t key, int64_t element, uint64_t step) {
  if (distribution == "normal") return random_normal(key, element, step);
  if (distribution == "truncated_normal") return random_truncated_normal(key, element, step);
  return uniform_of(random_word(key, element, step));
}

std::vector<Type> infer_random(const OpCall& call) {
  const RandomAttrs& attrs = call.attrs.as<RandomAttrs>();
  if (call.inputs[0] != Type{DType::i64, {}}) {
    reject("random", "step is not a counter", print(call.inputs[0]), "i64[]", ErrorKind::type);
  }
  const std::vector<std::string> names{"uniform", "normal", "truncated_normal"};
  if (std::ranges::find(names, attrs.distribution) == names.end() || !is_float(attrs.dtype)) {
    reject("random", "unknown distribution or type", call.attrs.print(), "uniform, normal or truncated_normal floats");
  }
  require_shape("random", attrs.shape);
  require_shape("random", attrs.whole);
  if (!lies_in(attrs.shape, attrs.whole, attrs.begin)) {
    reject("random", "the part is outside the whole", call.attrs.print(),
           "0 <= begin and begin + size <= whole per dimension");
  }
  return {Type{attrs.dtype, attrs.shape}};
}

void fill_random(const Attrs& all, Inputs in, Outputs out) {
  const RandomAttrs& attrs = all.as<RandomAttrs>();
  const uint64_t step = static_cast<uint64_t>(*in[0].as<int64_t>()), key = static_cast<uint64_t>(attrs.key);
  const int64_t width = attrs.shape.empty() ? 1 : attrs.shape.back();
  Array numbers(Type{DType::f64, attrs.shape});
  double* y = numbers.as<double>();
  for (int64_t row : first_elements(attrs.shape, attrs.whole, attrs.begin)) {
    for (int64_t i = 0; i < width; ++i) *y++ = draw(attrs.distribution, key, row + i, step);
  }
  const Array result = partita::cast(numbers, attrs.dtype);
  const auto* from = static_cast<const std::byte*>(result.data());
  std::copy_n(from, result.type().bytes(), static_cast<std::byte*>(out[0].data));
}

}  // namespace

std::vector<OpDef> random_ops() {
  OpDef op =
      new_op("random", "uniform in (0, 1), normal or truncated normal numbers, functions of (key, step, element)",
             {.count = 1}, RandomAttrs{});
  op.infer = infer_random;
  op.rule = [](const OpCall& call) {
    const std::vector<Type> none;
    ShardingRule rule = pointwise_rule({call.attrs, none, call.outputs});
    rule.inputs.emplace_back();  // step
    return rule;
  };
  op.localize = [](const Attrs& all, const Shard& shard) {
    RandomAttrs attrs = all.as<RandomAttrs>();
    const bool fresh = attrs.whole.empty();
    if (fresh) {
      attrs.whole = attrs.shape;
      attrs.begin.assign(attrs.shape.size(), 0);
    }
    bool cut = false;
    for (size_t d = 0; d < attrs.shape.size(); ++d) {
      cut = cut || !shard.outputs[0][d].whole();
      attrs.begin[d] += shard.outputs[0][d].begin;
      attrs.shape[d] = shard.outputs[0][d].count();
    }
    return cut ? Attrs(attrs) : all;
  };
  op.grad = no_gradients;
  op.emit = emit_random;
  op.traits.take_place = takes_begin(&RandomAttrs::shape);
  op.kernel = fill_random;
  const SampleInput step{Type{DType::i64, {}}, {Fill::step, 0}};
  op.samples = {{{step}, RandomAttrs{"uniform", 5, DType::f64, {4, 6}, {}, {}}},
                {{step}, RandomAttrs{"normal", 6, DType::f64, {2, 3, 5}, {}, {}}},
                {{step}, RandomAttrs{"truncated_normal", 7, DType::f64, {7}, {}, {}}},
                {{step}, RandomAttrs{"normal", 8, DType::f64, {3, 4}, {5, 7}, {2, 1}}}};
  return {op};
}

}  // namespace partita
