#include "ir/ops/pointwise.h"

namespace partita {
namespace {

/// Returns the op whose result is fn(a, b), a bool, over the broadcast of both.
template <class Fn>
OpDef comparison_op(const char* name, const char* summary, Fn fn) {
  OpDef op = number_op(name, summary, fn);
  op.infer = [infer = op.infer](const OpCall& call) {
    std::vector<Type> result = infer(call);
    result[0].dtype = DType::boolean;
    return result;
  };
  op.pointwise = nullptr;  // the vectorized loops write the type they read
  op.emit = emission_of(number_formula(fn));
  op.grad = no_gradients;
  op.samples = {{{ids_of({4, 6}, 2), ids_of({4, 6}, 2)}},
                {{ids_of({3, 4}, 2), ids_of({4}, 2)}},
                {{sample_of({4}), sample_of({3, 4})}}};
  return op;
}

OpDef equal_op() {
  OpDef op = comparison_op("equal", "a == b, broadcast", [](auto a, auto b) { return a == b; });
  op.traits.degree = [](const Attrs&, const std::vector<int>&) -> std::optional<int> { return 0; };
  return op;
}

OpDef not_equal_op() {
  return comparison_op("not_equal", "a != b, broadcast; true where one is NaN", [](auto a, auto b) { return a != b; });
}

OpDef less_op() {
  return comparison_op("less", "a < b, broadcast", [](auto a, auto b) { return a < b; });
}

OpDef less_equal_op() {
  return comparison_op("less_equal", "a <= b, broadcast", [](auto a, auto b) { return a <= b; });
}

OpDef greater_op() {
  return comparison_op("greater", "a > b, broadcast", [](auto a, auto b) { return a > b; });
}

OpDef greater_equal_op() {
  return comparison_op("greater_equal", "a >= b, broadcast", [](auto a, auto b) { return a >= b; });
}

}  // namespace

std::vector<OpDef> comparison_ops() {
  return {equal_op(), not_equal_op(), less_op(), less_equal_op(), greater_op(), greater_equal_op()};
}

}  // namespace partita
