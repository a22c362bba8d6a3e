#include "ir/ops/loss/cross_entropy.h"

#include <numeric>

#include "ir/ops/formula_gradient.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/norm/softmax.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"

namespace partita {
namespace {

constexpr std::string_view kLabelOutside = "label of row {} is outside the classes";

}  // namespace

void require_label(std::string_view op, int64_t label, int64_t row, int64_t classes) {
  IdRule{op, kLabelOutside}.require(label, row, classes);
}

namespace {

constexpr auto kCrossEntropy = "cross_entropy";
constexpr IdRule kCrossEntropyLabels{kCrossEntropy, kLabelOutside};

/// Checks that there is a class and a label for each row of logits. Throws InvalidArgument otherwise.
void require_logits_and_labels(std::string_view op, const OpCall& call) {
  const Type &logits = call.inputs[0], &label = call.inputs[1];
  const Shape& shape = logits.shape;
  if (!shape.empty() && shape.back() > 0 && label.shape == Shape(shape.begin(), shape.end() - 1)) return;
  reject(op, "shapes do not fit", print(logits) + " and " + print(label), "logits [.., classes] and labels [..]");
}

std::vector<Type> infer_cross_entropy(const OpCall& call) {
  require_logits_and_labels(kCrossEntropy, call);
  const DType wide = wide_type(call.inputs[0].dtype);
  Shape kept = call.inputs[0].shape;
  kept.back() = 1;
  return {Type{wide, call.inputs[1].shape}, Type{wide, kept}};
}

Value reshape(const GradCall& call, Value x, const Shape& shape) {
  return call.apply("reshape", {x}, ReshapeAttrs{.shape = shape});
}

/// Builds exp(logits - lse), which is the gradient of lse.
Value softmax_of(const BuildCall& call, Value logits, Value lse) {
  return call.apply("exp", {call.apply("sub", {to_dtype(call, logits, lse.dtype()), lse})});
}

std::vector<Value> grad_cross_entropy(const GradCall& call) {
  const Value logits = call.inputs[0], lse = call.outputs[1];
  Value d_logits;
  if (call.d_outputs[0]) {
    const Value d_loss = reshape(call, call.d_outputs[0], lse.shape());
    d_logits = call.apply("cross_entropy_grad", {logits, call.inputs[1], lse, d_loss},
                          CrossEntropyGradAttrs{.classes = logits.shape().back()});
  }
  if (call.d_outputs[1]) {
    const Value part = call.apply("mul", {softmax_of(call, logits, lse), call.d_outputs[1]});
    d_logits = added(call, d_logits, to_dtype(call, part, logits.dtype()));
  }
  return {d_logits, Value()};
}

std::vector<Value> expand_cross_entropy(const ExpandCall& call) {
  const Shifted row = shift_row(call, call.inputs[0]);
  const Value kept = call.apply("log", {row.sum});
  const Value picked = call.apply("pick", {row.difference, call.inputs[1]});
  // log(sum) - (x - max) does not cancel at large logits; lse - x would.
  const Value log_sum = call.apply("reshape", {kept}, ReshapeAttrs{.shape = call.outputs[0].shape});
  return {call.apply("sub", {log_sum, picked}), call.apply("add", {kept, row.largest})};
}

constexpr auto run_cross_entropy = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const std::vector<int64_t> labels = kCrossEntropyLabels.read(in[1], rows.size);
  const T* x = in[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size) {
    const auto [largest, sum] = largest_and_sum(x, rows.size);
    const double log_sum = std::log(sum);
    out[0].as<T>()[row] = static_cast<T>(log_sum - (double(x[labels[row]]) - largest));
    out[1].as<T>()[row] = static_cast<T>(log_sum + largest);
  }
};

OpDef cross_entropy_op() {
  OpDef op = new_op(kCrossEntropy,
                    "loss = lse - logits[label], lse = log of the sum of exp(logits); both f32 for 16-bit logits",
                    {.count = 2, .floats = {0}, .integers = {1, "labels"}});
  op.infer = infer_cross_entropy;
  op.rule = [](const OpCall& call) { return einsum("..z,..->..,..1 | z:expand", call); };
  op.grad = grad_cross_entropy;
  op.expand = expand_cross_entropy;
  op.flops_per_point = 5;
  op.traits.ids = kCrossEntropyLabels.described(1, [](const OpCall& call) { return call.inputs[0].shape.back(); });
  op.kernel = float_kernel<float>(run_cross_entropy);
  op.samples = {
      {{sample_of({6, 7}), ids_of({6}, 7)}},
      {{sample_of({2, 3, 4}), {Type{DType::i64, {2, 3}}, {Fill::ids, 4}}}},
      {{sample_of({5}), ids_of({}, 5)}},
  };
  return op;
}

constexpr auto kCrossEntropyGrad = "cross_entropy_grad";
constexpr IdRule kCrossEntropyGradLabels{kCrossEntropyGrad, kLabelOutside};

std::vector<Type> infer_cross_entropy_grad(const OpCall& call) {
  require_logits_and_labels(kCrossEntropyGrad, call);
  const Type& logits = call.inputs[0];
  Type kept{wide_type(logits.dtype), logits.shape};
  kept.shape.back() = 1;
  if (call.inputs[2] != kept || call.inputs[3] != kept) {
    reject(kCrossEntropyGrad, "lse and d do not fit the logits", print(call.inputs), print(kept) + " twice");
  }
  const auto& attrs = call.attrs.as<CrossEntropyGradAttrs>();
  if (attrs.classes < 1) {
    reject(kCrossEntropyGrad, "no classes", fmt::format("{}", attrs.classes), "at least 1");
  }
  if (!lies_in(logits.shape.back(), attrs.classes, attrs.begin)) {
    reject(kCrossEntropyGrad, "logits are not inside the classes",
           fmt::format("{} from {}", logits.shape.back(), attrs.begin), fmt::format("up to {}", attrs.classes));
  }
  return {logits};
}

constexpr auto run_cross_entropy_grad = []<class T>(const CrossEntropyGradAttrs& attrs, Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const std::vector<int64_t> labels = kCrossEntropyGradLabels.read(in[1], attrs.classes);
  const T *x = in[0].as<T>(), *lse = in[2].as<T>(), *d = in[3].as<T>();
  T* d_x = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, d_x += rows.size) {
    const int64_t local_label = labels[row] - attrs.begin;
    for (int64_t z = 0; z < rows.size; ++z) {
      const T softmax = std::exp(x[z] - lse[row]);
      d_x[z] = (softmax - static_cast<T>(z == local_label)) * d[row];
    }
  }
};

std::vector<Hlo> emit_cross_entropy_grad(const EmitCall& call) {
  const Hlo &logits = call.inputs[0], &labels = call.inputs[1];
  const DType wide = call.inputs[2].type.dtype;
  const Shape& shape = logits.type.shape;
  const int64_t last = logits.type.rank() - 1;
  std::vector<int64_t> rows(static_cast<size_t>(last));
  std::iota(rows.begin(), rows.end(), 0);
  const Type ids{labels.type.dtype, shape};
  const Hlo steps = call.body.add(fmt::format("stablehlo.iota dim = {} : {}", last, hlo_type(ids)), ids);
  const Hlo begin = call.begin(call.attrs.as<CrossEntropyGradAttrs>().begin, ids);
  const Hlo classes = call.body.add_same("stablehlo.add", {steps, begin});
  const Hlo hit = call.convert(call.compare("EQ", classes, call.broadcast_in(labels, rows, shape)), wide);
  const auto spread = [&](size_t operand) { return Traced(call, call.broadcast(call.inputs[operand], shape)); };
  const Traced softmax = exp_of(Traced(call, call.convert(logits, wide)) - spread(2));
  const Traced d_logits = (softmax - Traced(call, hit)) * spread(3);
  return {call.convert(d_logits.as(call, {wide, shape}), logits.type.dtype)};
}

/// Builds (exp(logits - lse) - one_hot(label)) d.
std::vector<Value> cross_entropy_grad_formula(const ExpandCall& call) {
  const Value logits = call.inputs[0], lse = call.inputs[2];
  const Value hit = call.apply(
      "one_hot", {call.inputs[1]},
      OneHotAttrs{
          .depth = logits.shape().back(), .begin = call.attrs.as<CrossEntropyGradAttrs>().begin, .dtype = lse.dtype()});
  const Value d_logits = call.apply("mul", {call.apply("sub", {softmax_of(call, logits, lse), hit}), call.inputs[3]});
  return {to_dtype(call, d_logits, logits.dtype())};
}

OpDef cross_entropy_grad_op() {
  OpDef op = new_op(kCrossEntropyGrad, "(exp(logits - lse) - [class == label]) * d",
                    {.count = 4, .floats = {0}, .integers = {1, "labels"}}, CrossEntropyGradAttrs{});
  op.infer = infer_cross_entropy_grad;
  op.rule = [](const OpCall& call) { return einsum("..z,..,..1,..1->..z", call).linear_in({3}); };
  op.localize = localized<CrossEntropyGradAttrs>(
      [](CrossEntropyGradAttrs& attrs, const Shard& shard) { attrs.begin += shard.inputs[0].back().begin; });
  op.traits.ids = kCrossEntropyGradLabels.described(
      1, [](const OpCall& call) { return call.attrs.as<CrossEntropyGradAttrs>().classes; });
  op.grad = by_formula(cross_entropy_grad_formula);
  op.emit = emit_cross_entropy_grad;
  op.traits.take_place = takes_begin<CrossEntropyGradAttrs>();
  op.flops_per_point = 4;
  op.kernel = float_kernel<float, CrossEntropyGradAttrs>(run_cross_entropy_grad);
  op.samples = {
      {{sample_of({6, 7}), ids_of({6}, 7), sample_of({6, 1}, Fill::positive), sample_of({6, 1})},
       CrossEntropyGradAttrs{.classes = 7}},
      {{sample_of({2, 3, 4}), ids_of({2, 3}, 4), sample_of({2, 3, 1}), sample_of({2, 3, 1})},
       CrossEntropyGradAttrs{.classes = 4}},
  };
  return op;
}

}  // namespace

std::vector<OpDef> cross_entropy_ops() { return {cross_entropy_op(), cross_entropy_grad_op()}; }

}  // namespace partita
