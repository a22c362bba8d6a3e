// Pointwise ops from their formulas: on operands of one shape in any memory format, and on dense operands that are
// broadcast.

#include <array>

#include "ir/ops/registry.h"
#include "ir/ops/support.h"
#include "runtime/device/cpu/loops/halves.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kPointwise = "loops.pointwise";

/// The formula of the op, bound to its attributes.
Pointwise loops_of(const KernelQuery& query) { return all_ops().at(query.op).pointwise(query.attrs); }

/// The loop of a pointwise op for element type T.
template <class T>
const Pointwise::Loop<T>& loop_of(const Pointwise& loops) {
  if constexpr (std::is_same_v<T, double>) {
    return loops.f64;
  } else {
    return loops.f32;
  }
}

/// Whether the op maps zeros to zero, so the padding of a memory format stays zero.
bool keeps_zero(const Pointwise& loops) {
  const double zero = 0, *operands[2] = {&zero, &zero};
  const int64_t steps[2] = {1, 1};
  double result = 1;
  loops.f64(operands, steps, &result, 1);
  return result == 0;
}

/// How two operands are read over the output. Dimensions are merged where both are contiguous; the strides of the last
/// one are 0 or 1.
struct Broadcast {
  Shape shape;
  std::array<Shape, 2> strides;

  /// Returns the index in an operand for the first element of run number `outer`: a run has the output's elements along
  /// its last dimension.
  int64_t begin(size_t operand, int64_t outer) const {
    int64_t at = 0;
    for (size_t d = shape.size() - 1; d-- > 0; outer /= shape[d]) at += outer % shape[d] * strides[operand][d];
    return at;
  }
};

Broadcast merged(const Shape& a, const Shape& b, const Shape& out) {
  const std::array<Shape, 2> strides{broadcast_strides(a, out), broadcast_strides(b, out)};
  Broadcast result{{1}, {Shape{0}, Shape{0}}};
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    const bool first = result.shape.back() == 1;
    const bool runs_on = !first && result.strides[0].back() == strides[0][d] * out[d] &&
                         result.strides[1].back() == strides[1][d] * out[d];
    if (!first && !runs_on) result.shape.push_back(1);
    result.shape.back() *= out[d];
    for (size_t k = 0; k < 2; ++k) {
      result.strides[k].resize(result.shape.size());
      result.strides[k].back() = strides[k][d];
    }
  }
  return result;
}

/// The element types of the operands and of the result.
struct PointwiseTypes {
  std::vector<DType> operands;
  DType result;
};

/// Operands and result of one run, in blocks. Operands of 16 bits are widened, a result of 16 bits is rounded.
template <class T>
class PointwiseRun {
 public:
  PointwiseRun(const PointwiseTypes& types, std::span<const void* const> in, std::span<void* const> out)
      : operands_{LoopOperand<T>(in[0], types.operands[0]), LoopOperand<T>(in.back(), types.operands.back())},
        result_(out[0], types.result),
        is_unary_(in.size() == 1) {}

  /// Computes `count` elements of the result from `to` on, from the operands' elements from `at` on.
  void compute(const Pointwise::Loop<T>& loop, const std::array<int64_t, 2>& at, const std::array<int64_t, 2>& steps,
               int64_t to, int64_t count) const {
    alignas(64) T rooms[3][kHalfBlock];
    for (int64_t begin = 0; begin < count; begin += kHalfBlock) {
      const int64_t size = std::min(kHalfBlock, count - begin);
      const auto read = [&](size_t k) {
        return operands_[k].read(at[k] + begin * steps[k], steps[k] == 0 ? 1 : size, rooms[k]);
      };
      const T* first = read(0);
      const T* from[2] = {first, is_unary_ ? first : read(1)};
      loop(from, steps.data(), result_.place(to + begin, rooms[2]), size);
      result_.store(to + begin, size, rooms[2]);
    }
  }

 private:
  std::array<LoopOperand<T>, 2> operands_;
  LoopResult<T> result_;
  bool is_unary_;
};

/// Binds a loop over operands of one shape and memory format, in blocks that do not depend on the number of threads.
template <class T>
LoopFn bind_equal(const Pointwise::Loop<T>& loop, const PointwiseTypes& types, int64_t count) {
  constexpr int64_t kBlock = 4096;
  return [=, blocks = (count + kBlock - 1) / kBlock](auto in, auto out, void*) {
    const PointwiseRun<T> run(types, in, out);
#pragma omp parallel for if (count > kSerialElements)
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t begin = block * kBlock;
      run.compute(loop, {begin, begin}, {1, 1}, begin, std::min(kBlock, count - begin));
    }
  };
}

template <class T>
LoopFn bind_broadcast(const Pointwise::Loop<T>& loop, const PointwiseTypes& types, const Broadcast& over) {
  return [=](auto in, auto out, void*) {
    const PointwiseRun<T> run(types, in, out);
    const int64_t inner = over.shape.back(), rows = elements(over.shape) / inner;
#pragma omp parallel for if (rows * inner > kSerialElements)
    for (int64_t row = 0; row < rows; ++row) {
      const std::array<int64_t, 2> steps{over.strides[0].back(), over.strides[1].back()};
      run.compute(loop, {over.begin(0, row), over.begin(1, row)}, steps, row * inner, inner);
    }
  };
}

KernelChoice propose_pointwise(const KernelQuery& query) {
  std::vector<std::pair<int, int>> in_place;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (query.inputs[i].shape == query.outputs[0].shape) in_place.emplace_back(static_cast<int>(i), 0);
  }
  const bool is_broadcast = in_place.size() < query.inputs.size();
  KernelChoice choice = propose_dense(kPointwise, query, std::move(in_place), {.operands = {0, 1}, .results = {0}});
  if (!choice.accepted()) return choice;
  if (query.outputs[0].elements() == 0) return refuse("empty");
  if (is_broadcast) return choice;  // which needs dense operands
  const size_t like = common_operand(query, query.inputs.size());
  if (like == query.inputs.size()) return choice;
  const MemoryFormat& format = query.input_formats[like];
  const bool padded = stored_elements(query.inputs[like], format) != query.outputs[0].elements();
  if (padded && !keeps_zero(loops_of(query))) return choice;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    choice.inputs[i] = format_of_type(format, query.inputs[like], query.inputs[i]);
  }
  choice.outputs[0] = format_of_type(format, query.inputs[like], query.outputs[0]);
  return choice;
}

std::unique_ptr<Kernel> make_pointwise(const KernelQuery& query, const KernelChoice& choice) {
  const Type& type = query.outputs[0];
  const Pointwise loops = loops_of(query);
  PointwiseTypes types{.operands = {}, .result = type.dtype};
  for (const Type& input : query.inputs) types.operands.push_back(input.dtype);
  LoopFn run;
  for_loop_type(type.dtype, [&](auto zero) {
    const auto& loop = loop_of<decltype(zero)>(loops);
    const Shape &a = query.inputs.front().shape, &b = query.inputs.back().shape;
    run = a == b ? bind_equal<decltype(zero)>(loop, types, stored_elements(type, choice.outputs[0]))
                 : bind_broadcast<decltype(zero)>(loop, types, merged(a, b, type.shape));
  });
  return make_loop(std::move(run));
}

}  // namespace

std::vector<KernelDef> pointwise_kernels() {
  KernelDef def{.name = kPointwise, .propose = propose_pointwise, .make = make_pointwise};
  def.mixes_halves = true;
  for (const OpDef& op : all_ops().all()) {
    if (op.pointwise) def.ops.push_back(op.name);
  }
  return {def};
}

}  // namespace partita
