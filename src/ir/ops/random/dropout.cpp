#include "base/philox.h"
#include "ir/ops/kernels.h"
#include "ir/ops/random/attrs.h"
#include "ir/ops/random/emit_random.h"
#include "ir/ops/sizes.h"

namespace partita {
namespace {

/// Returns the attributes with `whole` and `begin` of a shard's part of the tensor, unchanged if the part is all of it.
Attrs localize_dropout(const Attrs& all, const Shard& shard) {
  DropoutAttrs attrs = all.as<DropoutAttrs>();
  const Box& ranges = shard.outputs[0];
  bool cut = false;
  for (const Range& range : ranges) cut = cut || !range.whole();
  if (!cut) return all;
  const bool fresh = attrs.whole.empty();
  for (size_t d = 0; d < ranges.size(); ++d) {
    if (fresh) {
      attrs.whole.push_back(ranges[d].size);
      attrs.begin.push_back(ranges[d].begin);
    } else {
      attrs.begin[d] += ranges[d].begin;
    }
  }
  return Attrs(attrs);
}

std::vector<Type> infer_dropout(const OpCall& call) {
  const DropoutAttrs& attrs = call.attrs.as<DropoutAttrs>();
  if (!(attrs.rate >= 0 && attrs.rate < 1)) {
    reject("dropout", "rate is outside its range", fmt::format("{}", attrs.rate), "0 <= rate < 1");
  }
  if (call.inputs[1] != Type{DType::i64, {}}) {
    reject("dropout", "step is not a counter", print(call.inputs[1]), "i64[]", ErrorKind::type);
  }
  if (!lies_in(call.inputs[0].shape, attrs.whole, attrs.begin)) {
    reject("dropout", "the part is outside the whole", call.attrs.print() + " of " + print(call.inputs[0]),
           "0 <= begin and begin + size <= whole per dimension");
  }
  require_shape("dropout", attrs.whole);
  return {call.inputs[0]};
}

constexpr auto run_dropout = []<class T>(const DropoutAttrs& attrs, Inputs in, Outputs out) {
  const Shape& shape = in[0].type.shape;
  const uint64_t step = static_cast<uint64_t>(*in[1].as<int64_t>()), key = static_cast<uint64_t>(attrs.key);
  const double threshold = attrs.rate * 4294967296.0;
  const int64_t width = shape.empty() ? 1 : shape.back();
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  const T kept = static_cast<T>(1 / (1 - attrs.rate));
  for (int64_t row : first_elements(shape, attrs.whole, attrs.begin)) {
    PhiloxBlock block = random_block(key, row / 4, step);
    for (int64_t element = row; element < row + width; ++element, ++x, ++y) {
      if (element % 4 == 0) block = random_block(key, element / 4, step);
      *y = block[element % 4] >= threshold ? *x * kept : T{};
    }
  }
};

}  // namespace

std::vector<int64_t> first_elements(const Shape& part, const std::vector<int64_t>& whole,
                                    const std::vector<int64_t>& begin) {
  if (part.empty()) return {0};
  const Shape strides = strides_of(whole.empty() ? part : whole);
  int64_t first = 0;
  for (size_t d = 0; d < begin.size(); ++d) first += begin[d] * strides[d];
  const Shape rows(part.begin(), part.end() - 1);
  std::vector<int64_t> result(elements(rows));
  const std::array<Shape, 1> row_strides{Shape(strides.begin(), strides.end() - 1)};
  for_broadcast<1>(rows, row_strides, [&](int64_t i, const std::array<int64_t, 1>& at) { result[i] = first + at[0]; });
  return result;
}

std::vector<OpDef> dropout_ops() {
  OpDef op = new_op("dropout", "x / (1 - rate) where the element's random word is at least rate * 2^32, else 0",
                    {.count = 2, .floats = {0}}, DropoutAttrs{}, kFollowsHalves);
  op.infer = infer_dropout;
  op.rule = [](const OpCall& call) {
    const std::vector<Type> operand{call.inputs[0]};
    ShardingRule rule = pointwise_rule({call.attrs, operand, call.outputs});
    rule.inputs.emplace_back();  // step
    return rule.linear_in({0});
  };
  op.localize = localize_dropout;
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("dropout", {call.d_outputs[0], call.inputs[1]}, call.attrs), Value()};
  };
  op.emit = emit_dropout;
  op.traits.take_place = takes_begin<DropoutAttrs>();
  op.kernel = float_kernel<float, DropoutAttrs>(run_dropout);
  const SampleInput step{Type{DType::i64, {}}, {Fill::step, 0}};
  op.samples = {{{sample_of({4, 6}), step}, DropoutAttrs{0.4, 12345, {}, {}}},
                {{sample_of({2, 3, 5}), step}, DropoutAttrs{0.5, -7, {}, {}}},
                {{sample_of({3, 4}), step}, DropoutAttrs{0.5, 3, {5, 7}, {2, 1}}}};
  return {op};
}

}  // namespace partita
