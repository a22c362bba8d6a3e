#include "ops/batch_norm.h"
#include "ops/norm.h"

namespace partita {
namespace {

std::vector<Type> infer_moments(const OpCall& call) {
  require_operands("moments", call, 1);
  const int64_t groups = call.attrs.as<MomentsAttrs>().groups;
  require_norm_input("moments", call, groups);
  const Type sums{DType::f64, {groups, call.inputs[0].shape[1]}};
  return {sums, sums};
}

Attrs localize_moments(const Attrs& given, const Shard& shard) {
  MomentsAttrs attrs = given.as<MomentsAttrs>();
  attrs.groups = shard.outputs[0][0].count();
  return attrs;
}

template <class T>
void run_moments(const NormSizes& sizes, const T* x, double* sum, double* squares) {
  std::fill(sum, sum + sizes.groups * sizes.channels, 0);
  std::fill(squares, squares + sizes.groups * sizes.channels, 0);
  for_planes(sizes, [&](int64_t k, int64_t, int64_t begin, int64_t end) {
    double plane = 0, plane_squares = 0;
    for (int64_t i = begin; i < end; ++i) {
      plane += double(x[i]);
      plane_squares += double(x[i]) * double(x[i]);
    }
    sum[k] += plane;
    squares[k] += plane_squares;
  });
}

}  // namespace

OpDef moments_op() {
  OpDef op;
  op.name = "moments";
  op.summary = "f64 sums of x and of x * x per group of rows and channel";
  op.attrs = Attrs(MomentsAttrs{});
  op.infer = infer_moments;
  op.rule = [](const OpCall& call) { return norm_rule("x->gc,gc", call); };
  op.localize = localize_moments;
  op.flops_per_point = 3;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const NormSizes sizes = norm_sizes(in[0].type.shape, attrs.as<MomentsAttrs>().groups);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      run_moments<T>(sizes, in[0].as<T>(), out[0].as<double>(), out[1].as<double>());
    });
  };
  op.samples = {{{sample_of({6, 3, 4, 2})}}, {{sample_of({8, 5})}, Attrs(MomentsAttrs{.groups = 4})}};
  return op;
}

}  // namespace partita
