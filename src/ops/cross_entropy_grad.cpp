#include "ops/cross_entropy_grad.h"

#include "ops/cross_entropy.h"
#include "ops/softmax.h"

namespace partita {
namespace {

constexpr auto kCrossEntropyGrad = "cross_entropy_grad";

std::vector<Type> infer_cross_entropy_grad(const OpCall& call) {
  require_operands(kCrossEntropyGrad, call, 4);
  require_logits_and_labels(kCrossEntropyGrad, call);
  const Type& logits = call.inputs[0];
  Type kept{wide_type(logits.dtype), logits.shape};
  kept.shape.back() = 1;
  if (call.inputs[2] != kept || call.inputs[3] != kept) {
    reject(kCrossEntropyGrad, "lse and d do not fit the logits", print(call.inputs), print(kept) + " twice");
  }
  const auto& attrs = call.attrs.as<CrossEntropyGradAttrs>();
  if (attrs.begin < 0 || attrs.begin > attrs.classes - logits.shape.back()) {
    reject(kCrossEntropyGrad, "logits are not inside the classes",
           fmt::format("{} from {}", logits.shape.back(), attrs.begin), fmt::format("up to {}", attrs.classes));
  }
  return {logits};
}

Attrs localize_cross_entropy_grad(const Attrs& given, const Shard& shard) {
  CrossEntropyGradAttrs attrs = given.as<CrossEntropyGradAttrs>();
  attrs.begin += shard.inputs[0].back().begin;
  return attrs;
}

template <class T, class CrossEntropyGradLabel>
void run_cross_entropy_grad(const CrossEntropyGradAttrs& attrs, Inputs in, const CrossEntropyGradLabel* labels,
                            T* d_x) {
  const Rows rows = rows_of(in[0].type.shape);
  const T* x = in[0].as<T>();
  const Wide<T>* lse = in[2].as<Wide<T>>();
  const Wide<T>* d = in[3].as<Wide<T>>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, d_x += rows.size) {
    require_label(kCrossEntropyGrad, labels[row], row, attrs.classes);
    const int64_t held = labels[row] - attrs.begin;
    for (int64_t z = 0; z < rows.size; ++z) {
      const Wide<T> softmax = std::exp(static_cast<Wide<T>>(x[z]) - lse[row]);
      d_x[z] = T((softmax - static_cast<Wide<T>>(z == held)) * d[row]);
    }
  }
}

}  // namespace

OpDef cross_entropy_grad_op() {
  OpDef op;
  op.name = kCrossEntropyGrad;
  op.summary = "(exp(logits - lse) - [class == label]) * d";
  op.attrs = Attrs(CrossEntropyGradAttrs{});
  op.infer = infer_cross_entropy_grad;
  op.rule = [](const OpCall& call) { return einsum("..z,..,..1,..1->..z", call).linear_in({3}); };
  op.localize = localize_cross_entropy_grad;
  op.flops_per_point = 4;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const auto& own = attrs.as<CrossEntropyGradAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      in[1].type.dtype == DType::i32 ? run_cross_entropy_grad<T>(own, in, in[1].as<int32_t>(), out[0].as<T>())
                                     : run_cross_entropy_grad<T>(own, in, in[1].as<int64_t>(), out[0].as<T>());
    });
  };
  op.samples = {
      {{sample_of({6, 7}), ids_of({6}, 7), sample_of({6, 1}, Fill::positive), sample_of({6, 1})},
       Attrs(CrossEntropyGradAttrs{.classes = 7})},
      {{sample_of({2, 3, 4}), ids_of({2, 3}, 4), sample_of({2, 3, 1}), sample_of({2, 3, 1})},
       Attrs(CrossEntropyGradAttrs{.classes = 4})},
  };
  return op;
}

}  // namespace partita
