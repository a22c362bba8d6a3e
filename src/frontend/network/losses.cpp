#include "frontend/network/losses.h"

#include <limits>

#include "frontend/network/functions.h"
#include "ir/ops/constant.h"
#include "ir/ops/index/attrs.h"

namespace partita {
namespace {

/// Returns the logits as f32, f64 ones unchanged: exp, log and sums over the batch need more than 16 bits.
Value wide(Value logits) { return cast(logits, promote(logits.dtype(), DType::f32)); }

/// Returns the labels as one number per logit, in the type of the logits; classes become one-hot. Throws
/// InvalidArgument if the shapes do not fit or classes are not i32 or i64.
Value hot_labels(Builder& builder, Value logits, Value label) {
  Shape shape = logits.shape();
  const int64_t classes = shape.back();
  const bool dense = is_float(label.dtype());
  if (!dense) shape.pop_back();
  if (label.shape() != shape) {
    throw InvalidArgument("[loss] labels do not fit the logits, got {} for {}, expected the shape {}",
                          print(label.type()), print(logits.type()), print(shape));
  }
  if (dense) return cast(label, logits.dtype());
  return builder.apply("one_hot", {label}, OneHotAttrs{.depth = classes, .classes = classes, .dtype = logits.dtype()});
}

Value sparse(Builder& builder, Value logits, Value label) {
  return builder.apply_all("cross_entropy", {logits, label}).at(0);
}

Value dense(Builder& builder, Value narrow, Value label) {
  const Value logits = wide(narrow);
  return neg(reduce_sum(mul(log_softmax(logits), hot_labels(builder, logits, label)), {-1}));
}

Value expanded(Builder& builder, Value narrow, Value label) {
  const Value logits = wide(narrow);
  const Value e = exp(sub(logits, reduce_max(logits, {-1}, /*keep_dims=*/true)));
  const Value p = div(e, reduce_sum(e, {-1}, /*keep_dims=*/true));
  const double smallest = logits.dtype() == DType::f64 ? 1e-300 : 1e-37;  // its logarithm is finite
  const Value safe = maximum(p, constant(builder, smallest, Type{logits.dtype(), {}}));
  return neg(reduce_sum(mul(log(safe), hot_labels(builder, logits, label)), {-1}));
}

Value error(Builder& builder, Value narrow, Value label) {
  const Value logits = wide(narrow);
  return sub(logits, hot_labels(builder, logits, label));
}

Value loss_of_pair(Builder& builder, Value narrow, Value label) {
  const Value logits = wide(narrow);
  return binary_cross_entropy(logits, hot_labels(builder, logits, label));
}

Value mse(Builder& builder, Value logits, Value label) { return square(error(builder, logits, label)); }
Value mae(Builder& builder, Value logits, Value label) { return abs(error(builder, logits, label)); }

/// Returns the loss per sample, [..], or for the losses of `is_per_class` per sample and class, [.., classes]. Throws
/// InvalidArgument if the label does not fit in type or shape.
Value build_elements(Loss loss, Builder& builder, Value logits, Value label) {
  switch (loss) {
    case Loss::sparse: return sparse(builder, logits, label);
    case Loss::dense: return dense(builder, logits, label);
    case Loss::expanded: return expanded(builder, logits, label);
    case Loss::binary: return loss_of_pair(builder, logits, label);
    case Loss::mse: return mse(builder, logits, label);
    case Loss::mae: return mae(builder, logits, label);
  }
  return {};
}

/// Whether `build_elements` returns one number per sample and class: for binary, mse and mae.
bool is_per_class(Loss loss) { return loss == Loss::binary || loss == Loss::mse || loss == Loss::mae; }

void require_classes(Value logits) {
  if (logits.type().rank() >= 1) return;
  throw InvalidArgument("[loss] no dimension of classes, got {}, expected [.., classes]", print(logits.type()));
}

void require_ignorable(int64_t index, Value label) {
  const std::string type = print(label.type());
  if (is_float(label.dtype())) {
    throw InvalidArgument(
        "[loss] ignore_index needs labels that are classes, got {}, expected classes (integers) or no ignore_index",
        type);
  }
  for_integer(label.dtype(), [&](auto zero) {
    using Range = std::numeric_limits<decltype(zero)>;
    const auto least = static_cast<int64_t>(Range::min()), most = static_cast<int64_t>(Range::max());
    if (index >= least && index <= most) return;
    throw InvalidArgument("[loss] ignore_index is not a possible label, got {} for {}, expected {} to {}", index, type,
                          least, most);
  });
}

/// Returns the mean of the loss over the samples that are not of the class `ignored`, 0 if there are none. Throws
/// InvalidArgument for float labels and if no label can be of that class, and as `sample_losses` does.
Value mean_of_others(int64_t ignored, Loss loss, Builder& builder, Value logits, Value label) {
  require_ignorable(ignored, label);
  const Type class_type{label.dtype(), {}};
  const Value counts = not_equal(label, constant(builder, static_cast<double>(ignored), class_type));
  // A class of the logits, so that the loss of an ignored sample is a finite number.
  const Value labels = select(counts, label, constant(builder, 0, class_type));
  const Value losses = sample_losses(loss, builder, logits, labels);
  const Type one{losses.dtype(), {}};
  const Value sum = reduce_sum(select(counts, losses, constant(builder, 0, one)));
  return div(sum, maximum(reduce_sum(cast(counts, one.dtype)), constant(builder, 1, one)));
}

}  // namespace

Value sample_losses(Loss loss, Builder& builder, Value logits, Value label) {
  require_classes(logits);
  const Value losses = build_elements(loss, builder, logits, label);
  return is_per_class(loss) ? reduce_mean(losses, {-1}) : losses;
}

Value build_loss(Loss loss, Builder& builder, Value logits, Value label, const LossOptions& options) {
  require_classes(logits);
  if (options.ignore_index) return mean_of_others(*options.ignore_index, loss, builder, logits, label);
  return reduce_mean(build_elements(loss, builder, logits, label));
}

namespace {

const Node* maker_of(const Graph& graph, ValueId value, std::string_view op) {
  const NodeId maker = graph.values[value].producer;
  return maker >= 0 && graph.nodes[maker].op == op ? &graph.nodes[maker] : nullptr;
}

bool is_label(const Graph& graph, ValueId value) {
  while (graph.values[value].producer >= 0) {
    const Node& maker = graph.nodes[graph.values[value].producer];
    if (maker.op != "reshape" && maker.op != "cast" && maker.op != "transpose") return false;
    value = maker.inputs[0];
  }
  return graph.values[value].name == "label";
}

/// Returns the class c of select(label != c, label, a constant), or nothing if the node is no such select.
std::optional<int64_t> class_left_out(const Graph& graph, const Node& node) {
  if (node.op != "select" || maker_of(graph, node.inputs[2], "constant") == nullptr) return std::nullopt;
  const Node* differs = maker_of(graph, node.inputs[0], "not_equal");
  if (differs == nullptr || differs->inputs[0] != node.inputs[1] || !is_label(graph, node.inputs[1])) {
    return std::nullopt;
  }
  const Node* left_out = maker_of(graph, differs->inputs[1], "constant");
  if (left_out == nullptr || is_float(graph.type(node.inputs[1]).dtype)) return std::nullopt;
  return static_cast<int64_t>(left_out->attrs.as<ConstantAttrs>().value);
}

}  // namespace

std::optional<int64_t> find_ignored_class(const Graph& graph) {
  std::vector<bool> leads_to_loss(graph.values.size(), false);
  for (const Output& output : graph.outputs) {
    if (output.name == "loss") leads_to_loss[output.value] = true;
  }
  std::optional<int64_t> found;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (!any_marked(node.outputs, leads_to_loss)) continue;
    for (const ValueId input : node.inputs) leads_to_loss[input] = true;
    const std::optional<int64_t> own = class_left_out(graph, node);
    if (!own) continue;
    if (found && *found != *own) return std::nullopt;
    found = own;
  }
  return found;
}

}  // namespace partita
