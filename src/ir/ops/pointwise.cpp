#include "ir/ops/pointwise.h"

#include "ir/ops/emission.h"

namespace partita {
namespace {

/// Elements that the reference kernel computes at a time.
constexpr int64_t kBlock = 128;

/// One block of the operands in T, broadcast.
template <class T>
struct Block {
  std::array<std::array<int64_t, kBlock>, 2> at;  // positions in the operands
  std::array<std::array<T, kBlock>, 2> operands;
  std::array<T, kBlock> result;
  int64_t count = 0;
};

template <class T>
void compute(const Pointwise::Loop<T>& loop, Inputs in, const Tensor& out, int64_t first, Block<T>& block) {
  const T* operands[2] = {block.operands[0].data(), block.operands[1].data()};
  const int64_t steps[2] = {1, 1};
  for (size_t k = 0; k < in.size(); ++k) {
    for_dtype(in[k].type.dtype, [&](auto zero) {
      const auto* x = in[k].as<decltype(zero)>();
      for (int64_t i = 0; i < block.count; ++i) block.operands[k][i] = static_cast<T>(x[block.at[k][i]]);
    });
  }
  loop(operands, steps, block.result.data(), block.count);
  for_dtype(out.type.dtype, [&](auto zero) {
    using R = decltype(zero);
    for (int64_t i = 0; i < block.count; ++i) out.as<R>()[first + i] = static_cast<R>(block.result[i]);
  });
}

/// Runs plain loops in T over the broadcast of the operands.
template <class T>
void run_blocks(const Pointwise::Loop<T>& loop, Inputs in, const Tensor& out) {
  const Shape& shape = out.type.shape;
  std::array<Shape, 2> strides;
  for (size_t k = 0; k < 2; ++k) strides[k] = broadcast_strides(in[std::min(k, in.size() - 1)].type.shape, shape);
  Block<T> block;
  const int64_t total = elements(shape);
  for_broadcast<2>(shape, strides, [&](int64_t i, const std::array<int64_t, 2>& at) {
    for (size_t k = 0; k < 2; ++k) block.at[k][block.count] = at[k];
    if (++block.count < kBlock && i + 1 < total) return;
    compute(loop, in, out, i + 1 - block.count, block);
    block.count = 0;
  });
}

void run_pointwise(const Pointwise& loops, Inputs in, const Tensor& out) {
  is_float(in[0].type.dtype) ? run_blocks(loops.f64, in, out) : run_blocks(loops.i64, in, out);
}

}  // namespace

std::function<std::vector<Hlo>(const EmitCall&)> emission_of(const Pointwise& loops) {
  return [traced = loops.traced](const EmitCall& call) -> std::vector<Hlo> {
    const Type& result = call.outputs[0];
    std::vector<Traced> operands;
    for (const Hlo& input : call.inputs) {
      operands.push_back(computed_operand(call, call.broadcast(input, result.shape)));
    }
    return {rounded_result(call, traced(operands), result)};
  };
}

OpDef pointwise_op(std::string name, std::string summary, Attrs attrs, std::function<Pointwise(const Attrs&)> bind) {
  OpDef op = new_op(name, std::move(summary), {}, std::move(attrs), kFollowsHalves);
  const Pointwise loops = bind(op.attrs);
  op.operands = {.count = static_cast<size_t>(loops.operands), .same_dtype = true};
  if (!loops.i64) op.operands.floats = {0};
  op.infer = [name](const OpCall& call) { return infer_pointwise(name, call); };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.kernel = [bind](const Attrs& given, Inputs in, Outputs out) { run_pointwise(bind(given), in, out[0]); };
  op.pointwise = std::move(bind);
  return op;
}

}  // namespace partita
