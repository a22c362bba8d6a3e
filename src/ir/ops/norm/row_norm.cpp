#include "ir/ops/norm/row_norm.h"

#include <algorithm>
#include <numeric>

#include "ir/ops/norm/moments.h"
#include "ir/ops/reduce/attrs.h"

namespace partita {

namespace {

/// Returns the type of a statistic per row of x[.., z].
Type row_statistic(const Type& x) {
  Type type{wide_type(x.dtype), x.shape};
  type.shape.back() = 1;
  return type;
}

/// Checks that x has a last dimension z and that the next `channels` operands are [z] in its element type. Throws
/// InvalidArgument otherwise.
void require_row_norm(std::string_view op, const OpCall& call, size_t channels) {
  const Type& x = call.inputs[0];
  if (x.rank() == 0) reject(op, "x has no dimension", print(x), "[.., z]");
  const Type channel{x.dtype, {x.shape.back()}};
  for (size_t i = 1; i <= channels; ++i) {
    if (call.inputs[i] == channel) continue;
    reject(op, fmt::format("operand {} does not fit x", i), print(call.inputs), print(channel));
  }
}

/// Returns "first,other,other": `text` and then `count` times `other`.
std::string and_several(std::string text, std::string_view other, size_t count) {
  for (size_t i = 0; i < count; ++i) text.append(",").append(other);
  return text;
}

/// Returns the gradient of x through the statistics of a norm, or an empty Value if none arrived. Gradients of
/// gradients arrive there.
Value gradient_of_statistics(const GradCall& call) {
  const Value x = call.inputs[0], rstd = call.outputs.back(), d_rstd = call.d_outputs.back();
  const bool centers = call.outputs.size() > 2;
  const Value mean = centers ? call.outputs[1] : Value(), d_mean = centers ? call.d_outputs[1] : Value();
  if (!d_rstd && !d_mean) return {};
  const double share = 1.0 / static_cast<double>(std::max<int64_t>(1, x.shape().back()));
  const Value wide = to_dtype(call, x, rstd.dtype());
  return to_dtype(call, gradient_of_moments(call, wide, mean, rstd, d_mean, d_rstd, share), x.dtype());
}

}  // namespace

OpDef row_norm_op(const std::string& name, const char* summary, const RowNorm& norm) {
  OpDef op = new_op(name, summary, {.count = 1 + norm.channels, .floats = {0}}, RowNormAttrs{}, kFollowsHalves);
  op.infer = [=](const OpCall& call) {
    require_row_norm(name, call, norm.channels);
    const double epsilon = call.attrs.as<RowNormAttrs>().epsilon;
    if (!(epsilon > 0) || !std::isfinite(epsilon)) {
      reject(name, "epsilon is not a positive number", to_text(epsilon), "above 0");
    }
    std::vector<Type> results(1 + norm.statistics.size(), row_statistic(call.inputs[0]));
    results[0] = call.inputs[0];
    return results;
  };
  op.rule = [norm](const OpCall& call) {
    return einsum(and_several("..z", "z", norm.channels) + "->" + and_several("..z", "..1", norm.statistics.size()) +
                      " | z:expand",
                  call);
  };
  op.grad = [=](const GradCall& call) {
    std::vector<Value> gradients(call.inputs.size());
    if (call.d_outputs[0]) {
      std::vector<Value> operands{call.inputs[0], call.inputs[1]};
      operands.insert(operands.end(), call.outputs.begin() + 1, call.outputs.end());
      operands.push_back(call.d_outputs[0]);
      gradients = call.apply_all(name + "_grad", operands);
    }
    if (const Value d = gradient_of_statistics(call)) {
      gradients[0] = added(call, gradients[0], d);
    }
    return gradients;
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({2, 3, 5})}, RowNormAttrs{1e-3}}};
  for (Sample& sample : op.samples) {
    sample.inputs.resize(1 + norm.channels, sample_of({sample.inputs[0].type.shape.back()}));
  }
  return op;
}

OpDef row_norm_grad_op(const std::string& name, const char* summary, const RowNorm& norm) {
  const size_t statistics = norm.statistics.size(), last = 2 + statistics;
  OpDef op = new_op(name, summary, {.count = last + 1, .floats = {0}}, {}, kFollowsHalves);
  op.infer = [=](const OpCall& call) {
    require_row_norm(name, call, 1);
    const Type &x = call.inputs[0], statistic = row_statistic(x);
    bool fits = call.inputs[last] == x;
    for (size_t i = 2; i < last; ++i) fits = fits && call.inputs[i] == statistic;
    if (!fits) {
      reject(name, "operands do not fit x", print(call.inputs),
             fmt::format("{} {}, d_y {}", fmt::join(norm.statistics, " and "), print(statistic), print(x)));
    }
    std::vector<Type> results(1 + norm.channels, call.inputs[1]);
    results[0] = x;
    return results;
  };
  op.rule = [=](const OpCall& call) {
    const std::string operands = and_several("..z,z", "..1", statistics) + ",..z";
    return einsum(operands + "->" + and_several("..z", "z", norm.channels) + " | z:expand", call)
        .linear_in({static_cast<int>(last)});
  };
  for (const Shape& x : {Shape{4, 6}, Shape{2, 3, 5}}) {
    Shape rows = x;
    rows.back() = 1;
    Sample sample{{sample_of(x), sample_of({x.back()})}};
    sample.inputs.resize(last, sample_of(rows));
    sample.inputs.back().fill = {Fill::positive, 0};  // rstd
    sample.inputs.push_back(sample_of(x));
    op.samples.push_back(sample);
  }
  return op;
}

Value sum_last(const ExpandCall& call, Value x) { return reduce_row(call, x, Reduce::sum); }

Value sum_rows(const ExpandCall& call, Value x) {
  std::vector<int64_t> axes(x.type().rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (axes.empty()) return x;
  return call.apply("reduce", {x}, ReduceAttrs{.kind = Reduce::sum, .axes = axes});
}

}  // namespace partita
