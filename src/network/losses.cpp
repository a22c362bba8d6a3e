#include "network/losses.h"

#include "network/functions.h"
#include "ops/constant.h"
#include "ops/index/attrs.h"

namespace partita {
namespace {

/// 16-bit logits widened: exp, log and sums over the batch want more digits.
Value wide(Value logits) { return cast(logits, promote(logits.dtype(), DType::f32)); }

/// One number for each logit: classes become one-hot.
Value hot_labels(Builder& builder, Value logits, Value label) {
  Shape shape = logits.shape();
  const int64_t classes = shape.back();
  const bool dense = is_float(label.dtype());
  if (!dense) shape.pop_back();
  if (label.shape() != shape) {
    throw InvalidArgument(fmt::format("[loss] labels do not fit the logits, got {} for {}, expected the shape {}",
                                      print(label.type()), print(logits.type()), print(shape)));
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
  const double smallest = logits.dtype() == DType::f64 ? 1e-300 : 1e-37;  // log of it is finite
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

/// One number per sample, or per element.
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

}  // namespace

Value build_loss(Loss loss, Builder& builder, Value logits, Value label) {
  if (logits.type().rank() < 1) {
    throw InvalidArgument(
        fmt::format("[loss] no dimension of classes, got {}, expected [.., classes]", print(logits.type())));
  }
  return reduce_mean(build_elements(loss, builder, logits, label));
}

}  // namespace partita
