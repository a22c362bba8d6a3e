// Rotary position embedding (Su et al., 2021), in the convention that pairs the two halves of the last dimension.

#include <cmath>
#include <limits>

#include "ir/ops/attention/attention.h"
#include "ir/ops/attention/rotations.h"
#include "ir/ops/emission.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

std::vector<Type> infer_rotary(const OpCall& call) {
  const Type& x = call.inputs[0];
  const RotaryAttrs& attrs = call.attrs.as<RotaryAttrs>();
  if (attrs.heads < 1) reject("rotary", "bad number of heads", fmt::format("{}", attrs.heads), "at least 1");
  if (x.rank() < 2 || x.shape.back() % attrs.heads != 0 || x.shape.back() / attrs.heads % 2 != 0) {
    reject("rotary", "operand has no pairs",
           attrs.heads == 1 ? print(x) : fmt::format("{} heads of {}", attrs.heads, print(x)),
           "[.., s, d] with an even d for each head");
  }
  if (!(attrs.base > 0) || !std::isfinite(attrs.base)) {
    reject("rotary", "bad base", fmt::format("{}", attrs.base), "a finite number above 0");
  }
  if (!(attrs.factor >= 1) || !std::isfinite(attrs.factor)) {
    reject("rotary", "bad factor", fmt::format("{}", attrs.factor), "a finite number of at least 1");
  }
  if (attrs.trained < 0 || !(attrs.low > 0) || !(attrs.high > attrs.low) || !std::isfinite(attrs.high)) {
    reject("rotary", "bad scaling", fmt::format("low {}, high {}, trained {}", attrs.low, attrs.high, attrs.trained),
           "low above 0, a greater high, and a length of at least 0");
  }
  if (attrs.begin < 0 || attrs.begin > std::numeric_limits<int64_t>::max() - x.shape[x.rank() - 2]) {
    reject("rotary", "bad begin", fmt::format("{}", attrs.begin), "at least 0, with positions that an i64 holds");
  }
  if (call.inputs.size() == 1) return {x};
  const Type positions{DType::i32, Shape(x.shape.begin(), x.shape.end() - 1)};
  if (call.inputs[1] != positions) {
    reject("rotary", "positions do not fit x", print(call.inputs[1]), print(positions));
  }
  if (attrs.begin != 0) reject("rotary", "positions are data", fmt::format("begin {}", attrs.begin), "begin 0");
  return {x};
}

constexpr auto run_rotary = []<class T>(const RotaryAttrs& attrs, Inputs in, Outputs out) {
  const Type& type = in[0].type;
  const int64_t total = type.elements(), positions = type.shape[type.rank() - 2];
  if (total == 0) return;
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  const int64_t pairs = type.shape.back() / attrs.heads / 2;
  const int32_t* given = in.size() > 1 ? in[1].as<int32_t>() : nullptr;
  const Rotations<T> rotations(attrs, given == nullptr ? positions : 0, pairs);
  std::vector<T> own(static_cast<size_t>(2 * pairs));
  for (int64_t head = 0; head < total / (2 * pairs); ++head, x += 2 * pairs, y += 2 * pairs) {
    const int64_t row = head / attrs.heads, position = row % positions;
    if (given != nullptr) rotations.turn(given[row], own.data(), own.data() + pairs);
    const T* cosine = given != nullptr ? own.data() : rotations.cosine(position);
    const T* sine = given != nullptr ? own.data() + pairs : rotations.sine(position);
    for (int64_t i = 0; i < pairs; ++i) {
      const T first = x[i], second = x[pairs + i];
      y[i] = first * cosine[i] - second * sine[i];
      y[pairs + i] = second * cosine[i] + first * sine[i];
    }
  }
};

/// Angles are computed in f64, as in the kernels.
std::vector<Hlo> emit_rotary(const EmitCall& call) {
  const auto& attrs = call.attrs.as<RotaryAttrs>();
  const Type& result = call.outputs[0];
  if (result.elements() == 0) return {call.splat(0, result)};
  const int64_t positions = result.shape[result.rank() - 2], pairs = result.shape.back() / attrs.heads / 2;
  const DType wide = wide_type(result.dtype);
  std::vector<double> frequencies;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    frequencies.push_back(rotary_frequency(attrs, pair, pairs));
  }
  const bool are_given = call.inputs.size() > 1;
  const int64_t rows = are_given ? result.elements() / result.shape.back() : positions;
  const Type table{DType::f64, {rows, pairs}}, place{DType::i64, table.shape};
  const auto counted = [&] {
    return call.body.add_same("stablehlo.add", {hlo_iota(call, 0, place), call.begin(attrs.begin, place)});
  };
  const Hlo own = are_given ? call.broadcast_in(call.reshape(call.inputs[1], {rows}), {0}, table.shape) : counted();
  const Hlo angle = call.body.add_same(
      "stablehlo.multiply",
      {call.convert(own, DType::f64), call.broadcast_in(hlo_list(call, frequencies), {1}, table.shape)});
  const Shape all{result.elements() / (rows * attrs.heads * 2 * pairs), rows, attrs.heads, 2, pairs},
      half{all[0], rows, attrs.heads, 1, pairs};
  const auto spread = [&](const char* op) {
    return Traced(call, call.broadcast_in(call.convert(call.body.add_same(op, {angle}), wide), {1, 4}, half));
  };
  const Traced cosine = spread("stablehlo.cosine"), ahead = spread("stablehlo.sine");
  const Traced sine = attrs.inverse ? -ahead : ahead;
  const Hlo x = call.reshape(call.convert(call.inputs[0], wide), all);
  const auto part = [&](int64_t k) {
    return Traced(call, hlo_slice(call, x, {0, 0, 0, k, 0}, {all[0], all[1], all[2], k + 1, pairs}, {1, 1, 1, 1, 1}));
  };
  const Traced first = part(0), second = part(1);
  const Type kept{wide, half};
  const Hlo y = call.body.add_typed(
      "stablehlo.concatenate",
      {(first * cosine - second * sine).as(call, kept), (second * cosine + first * sine).as(call, kept)}, ", dim = 3",
      {wide, all});
  return {call.convert(call.reshape(y, result.shape), result.dtype)};
}

}  // namespace

std::vector<OpDef> rotary_ops() {
  OpDef op = new_op(
      "rotary",
      "x[.., s, d] with the pairs (i, i + d/2) of each head turned by (begin + s) * base^(-2i/d) / factor, or by "
      "positions[.., s] in place of begin + s",
      {.count = 1, .optional = 1, .floats = {0}}, RotaryAttrs{}, kFollowsHalves);
  op.infer = infer_rotary;
  op.rule = [](const OpCall& call) {
    const char* text = call.inputs.size() > 1 ? "..s(hd),..s->..s(hd) | d:whole" : "..s(hd)->..s(hd) | d:whole";
    return einsum(text, call, {{'h', call.attrs.as<RotaryAttrs>().heads}}).linear_in({0});
  };
  op.localize = localized<RotaryAttrs>([](RotaryAttrs& attrs, const Shard& shard) {
    const Box& ranges = shard.outputs[0];
    if (shard.inputs.size() == 1) attrs.begin += ranges[ranges.size() - 2].begin;
    if (ranges.back().size > 0) attrs.heads = attrs.heads * ranges.back().count() / ranges.back().size;
  });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    RotaryAttrs back = call.attrs.as<RotaryAttrs>();
    back.inverse = !back.inverse;
    if (call.inputs.size() == 1) return {call.apply("rotary", {call.d_outputs[0]}, Attrs(back))};
    return {call.apply("rotary", {call.d_outputs[0], call.inputs[1]}, Attrs(back)), Value()};
  };
  op.emit = emit_rotary;
  op.traits.take_place = takes_begin<RotaryAttrs>();
  op.flops_per_point = 3;
  op.kernel = float_kernel<float, RotaryAttrs>(run_rotary);
  op.samples = {{{sample_of({6, 4})}, RotaryAttrs{100}},
                {{sample_of({2, 3, 5, 6})}, RotaryAttrs{10000, 7}},
                {{sample_of({4, 5, 2})}, RotaryAttrs{10000, 0, true}},
                {{sample_of({2, 5, 12})}, RotaryAttrs{.base = 50, .begin = 1, .heads = 3}},
                {{sample_of({3, 8})}, RotaryAttrs{.base = 100, .factor = 8, .low = 0.5, .high = 2, .trained = 16}},
                {{sample_of({4, 4})}, RotaryAttrs{.base = 100, .factor = 2}},
                {{sample_of({2, 3, 8}), ids_of({2, 3}, 50)}, RotaryAttrs{.base = 100, .heads = 2}}};
  return {op};
}

}  // namespace partita
