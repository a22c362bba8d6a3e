#include <algorithm>
#include <limits>
#include <numeric>

#include "base/number.h"
#include "ir/ops/emission.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/kernels.h"

namespace partita {
namespace {

std::vector<Type> infer_top_k(const OpCall& call) {
  const Type& x = call.inputs[0];
  const int64_t k = call.attrs.as<TopKAttrs>().k;
  const int64_t columns = x.shape.empty() ? 0 : x.shape.back();
  if (k < 1 || k > columns) {
    reject("top_k", "k does not fit", fmt::format("{} of {}", k, print(x)),
           "at least 1 and at most the last dimension");
  }
  if (columns > std::numeric_limits<int32_t>::max()) {
    reject("top_k", "last dimension too large", print(x), "indices that an i32 holds");
  }
  Shape shape = x.shape;
  shape.back() = k;
  return {Type{x.dtype, shape}, Type{DType::i32, shape}};
}

/// Fills `places` with the indices of the largest elements of a row, the largest first. Of equal elements the first
/// wins, and a NaN counts as the largest. `order` is scratch, as long as the row.
template <class T>
void largest_top_k(const T* x, std::vector<int32_t>& order, std::span<int32_t> places) {
  const auto before = [x](int32_t a, int32_t b) {
    const bool a_is_nan = is_nan(x[a]), b_is_nan = is_nan(x[b]);
    if (a_is_nan != b_is_nan) return a_is_nan;
    if (a_is_nan || x[a] == x[b]) return a < b;
    return x[a] > x[b];
  };
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + static_cast<int64_t>(places.size());
  if (middle != order.end()) std::nth_element(order.begin(), middle, order.end(), before);
  std::sort(order.begin(), middle, before);
  std::copy(order.begin(), middle, places.begin());
}

constexpr auto run_top_k = []<class T>(const TopKAttrs& attrs, Inputs in, Outputs out) {
  const int64_t columns = in[0].type.shape.back(), k = attrs.k, rows = out[0].type.elements() / k;
  std::vector<int32_t> order(columns);
  int32_t* places = out[1].as<int32_t>();
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  for (int64_t row = 0; row < rows; ++row, x += columns, y += k, places += k) {
    largest_top_k(x, order, {places, static_cast<size_t>(k)});
    for (int64_t i = 0; i < k; ++i) y[i] = x[places[i]];
  }
};

/// A stable sort of the elements with their places.
std::vector<Hlo> emit_top_k(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  if (call.outputs[0].elements() == 0) return {call.splat(0, call.outputs[0]), call.splat(0, call.outputs[1])};
  const int64_t last = x.type.rank() - 1;
  const Hlo places = hlo_iota(call, last, {DType::i32, x.type.shape});
  const std::string one = hlo_type({x.type.dtype, {}}), compared = fmt::format("({0}, {0}) -> tensor<i1>", one);
  std::string before = fmt::format("      %before = stablehlo.compare GT, %a, %b : {}\n", compared);
  if (is_float(x.type.dtype)) {
    before = fmt::format(
        "      %above = stablehlo.compare GT, %a, %b : {0}\n      %nan = stablehlo.compare NE, %a, %a : {0}\n"
        "      %number = stablehlo.compare EQ, %b, %b : {0}\n      %first = stablehlo.and %nan, %number : tensor<i1>\n"
        "      %before = stablehlo.or %above, %first : tensor<i1>\n",
        compared);
  }
  const std::vector<Hlo> sorted = call.body.add_several(
      fmt::format(
          "\"stablehlo.sort\"({}, {}) ({{\n    ^bb0(%a: {}, %b: {}, %c: tensor<i32>, %d: tensor<i32>):\n{}"
          "      stablehlo.return %before : tensor<i1>\n    }}) {{dimension = {} : i64, is_stable = true}} : {} "
          "-> {}",
          x.name, places.name, one, one, before, last, hlo_types({x, places}), hlo_types({x, places})),
      {x.type, places.type});
  const Shape& end = call.outputs[0].shape;
  const std::vector<int64_t> begin(end.size(), 0), steps(end.size(), 1);
  return {hlo_slice(call, sorted[0], begin, end, steps), hlo_slice(call, sorted[1], begin, end, steps)};
}

}  // namespace

std::vector<OpDef> top_k_ops() {
  OpDef op = new_op("top_k",
                    "the k largest x[.., z], falling, and their indices; NaN is largest, of equal ones the first comes "
                    "first",
                    {.count = 1}, TopKAttrs{});
  op.infer = infer_top_k;
  op.rule = [](const OpCall& call) { return einsum("..z->..k,..k | z:whole k:whole k:no_flops", call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    if (!call.d_outputs[0]) return {Value()};
    const int64_t size = call.inputs[0].shape().back();
    return {call.apply("put_along", {call.d_outputs[0], call.outputs[1]}, PutAlongAttrs{.size = size, .total = size})};
  };
  op.emit = emit_top_k;
  op.flops_per_point = 4;
  op.kernel = number_kernel<TopKAttrs>(run_top_k);
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}, TopKAttrs{2}},
                {{sample_of({2, 3, 5}, Fill::distinct)}, TopKAttrs{5}},
                {{sample_of({7}, Fill::distinct)}, TopKAttrs{1}},
                {{ids_of({4, 6}, 3)}, TopKAttrs{4}}};
  return {op};
}

}  // namespace partita
