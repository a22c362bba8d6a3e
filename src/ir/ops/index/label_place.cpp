#include <cmath>
#include <limits>
#include <numeric>

#include "ir/ops/emission.h"
#include "ir/ops/kernels.h"

namespace partita {
namespace {

constexpr int64_t kNoPlace = std::numeric_limits<int64_t>::max();

std::vector<Type> infer_label_place(const OpCall& call) {
  const Type &x = call.inputs[0], &label = call.inputs[1];
  const bool fits = is_float(x.dtype) && !x.shape.empty() && x.shape.back() > 0 &&
                    (label.dtype == DType::i32 || label.dtype == DType::i64) &&
                    Shape(x.shape.begin(), x.shape.end() - 1) == label.shape;
  if (!fits) {
    reject("label_place", "operands do not fit", print(call.inputs),
           "rows of floats with at least 1 column, and one integer label for each");
  }
  return {Type{DType::i64, label.shape}, Type{DType::boolean, label.shape}};
}

/// Returns the number of elements before that of the label, and whether all are finite.
template <class T>
std::pair<int64_t, bool> place_of_label(const T* x, int64_t columns, int64_t label) {
  const bool has_column = label >= 0 && label < columns;
  const T own = x[has_column ? label : 0];
  int64_t before = 0, nans = 0, infinite = 0;
  for (int64_t z = 0; z < columns; ++z) {
    before += static_cast<int64_t>(x[z] > own) + static_cast<int64_t>(x[z] == own && z < label);
    nans += static_cast<int64_t>(x[z] != x[z]);
    infinite += static_cast<int64_t>(std::abs(x[z]) > std::numeric_limits<T>::max());
  }
  return {has_column && nans == 0 ? before : kNoPlace, nans == 0 && infinite == 0};
}

constexpr auto run_label_place = []<class T>(Inputs in, Outputs out) {
  const int64_t columns = in[0].type.shape.back();
  const T* x = in[0].as<T>();
  int64_t* places = out[0].as<int64_t>();
  bool* finite = out[1].as<bool>();
  for (const int64_t label : read_ids(in[1])) {
    std::tie(*places++, *finite++) = place_of_label(x, columns, label);
    x += columns;
  }
};

std::vector<Hlo> emit_label_place(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  const int64_t last = x.type.rank() - 1;
  const Type columns{call.inputs[1].type.dtype, x.type.shape}, counts{DType::i64, x.type.shape};
  std::vector<int64_t> rows(static_cast<size_t>(last));
  std::iota(rows.begin(), rows.end(), 0);
  const auto either = [&](const Hlo& a, const Hlo& b) { return call.body.add_same("stablehlo.or", {a, b}); };
  const auto both = [&](const Hlo& a, const Hlo& b) { return call.body.add_same("stablehlo.and", {a, b}); };
  const auto count = [&](const Hlo& condition) {
    const Hlo ones = call.select(condition, call.splat_integer(1, counts), call.splat_integer(0, counts));
    return call.reduce(ones, "add", call.splat_integer(0, {DType::i64, {}}), {last});
  };
  const Hlo column = hlo_iota(call, last, columns), label = call.broadcast_in(call.inputs[1], rows, x.type.shape);
  const Hlo is_own = call.compare("EQ", column, label);
  const Hlo own =
      call.reduce(call.select(is_own, x, call.splat(0, x.type)), "add", call.splat(0, {x.type.dtype, {}}), {last});
  const Hlo own_value = call.broadcast_in(own, rows, x.type.shape);
  const Hlo before = either(call.compare("GT", x, own_value),
                            both(call.compare("EQ", x, own_value), call.compare("LT", column, label)));
  const Hlo place = count(before), hits = count(is_own), nans = count(call.compare("NE", x, x));
  const Hlo none = call.splat_integer(0, place.type);
  const Hlo has_place = both(call.compare("NE", hits, none), call.compare("EQ", nans, none));
  const Hlo size = call.body.add_same("stablehlo.abs", {x});
  const Hlo infinite = count(call.compare("EQ", size, call.splat(std::numeric_limits<double>::infinity(), x.type)));
  return {call.select(has_place, place, call.splat_integer(kNoPlace, place.type)),
          both(call.compare("EQ", infinite, none), call.compare("EQ", nans, none))};
}

OpDef label_place_op() {
  OpDef op = new_op(
      "label_place",
      "number of x[.., z] before x[.., label[..]] in falling order, the first of equal ones first, and whether all x "
      "of a row are finite; the largest i64 for a label without a column and a row with a NaN",
      {.count = 2});
  op.infer = infer_label_place;
  op.rule = [](const OpCall& call) { return einsum("..z,..->..,.. | z:whole", call); };
  op.grad = no_gradients;
  op.kernel = float_kernel<float>(run_label_place);
  op.emit = emit_label_place;
  op.samples = {{{sample_of({4, 6}, Fill::distinct), ids_of({4}, 6)}},
                {{sample_of({2, 3, 5}), ids_of({2, 3}, 8)}},
                {{sample_of({5, 1}), ids_of({5}, 2)}}};
  return op;
}

}  // namespace

std::vector<OpDef> label_place_ops() { return {label_place_op()}; }

}  // namespace partita
