#include <array>

#include "device/cpu/loops/vector_math.h"
#include "device/cpu/loops/vectorize.h"
#include "ops/support.h"

namespace partita {
namespace {

constexpr auto kName = "loops.pointwise";

/// use(function, whether it maps 0 to 0), if the op has one operand; scale's numbers come from `attrs`.
template <class Use>
bool with_unary(const std::string& op, const Attrs& attrs, Use&& use) {
  if (op == "relu") return use([](auto x) { return x > 0 ? x : 0; }, true);
  if (op == "neg") return use([](auto x) { return -x; }, true);
  if (op == "abs") return use([](auto x) { return std::abs(x); }, true);
  if (op == "sign") return use([](auto x) { return decltype(x)(x > 0) - decltype(x)(x < 0); }, true);
  if (op == "square") return use([](auto x) { return x * x; }, true);
  if (op == "sqrt") return use([](auto x) { return std::sqrt(x); }, true);
  if (op == "tanh") return use([](auto x) { return tanh_of(x); }, true);
  if (op == "rsqrt") return use([](auto x) { return 1 / std::sqrt(x); }, false);
  if (op == "exp") return use([](auto x) { return exp_of(x); }, false);
  if (op == "log") return use([](auto x) { return std::log(x); }, false);
  if (op == "sigmoid") return use([](auto x) { return 1 / (1 + exp_of(-x)); }, false);
  if (op != "scale") return false;
  const auto scale = field_of<double>(attrs, "scale"), bias = field_of<double>(attrs, "bias");
  return use([=](auto x) { return x * decltype(x)(scale) + decltype(x)(bias); }, bias == 0);
}

/// The same for two operands.
template <class Use>
bool with_binary(const std::string& op, Use&& use) {
  if (op == "add") return use([](auto a, auto b) { return a + b; }, true);
  if (op == "sub") return use([](auto a, auto b) { return a - b; }, true);
  if (op == "mul") return use([](auto a, auto b) { return a * b; }, true);
  if (op == "div") return use([](auto a, auto b) { return a / b; }, false);
  if (op == "maximum") return use([](auto a, auto b) { return a > b ? a : b; }, true);
  if (op == "minimum") return use([](auto a, auto b) { return a > b ? b : a; }, true);
  if (op == "relu_grad") return use([](auto d_y, auto y) { return y > 0 ? d_y : 0; }, true);
  return false;
}

/// Both operands read over the output with dimensions merged where both run on; the last one has
/// stride 0 or 1 in each.
struct Broadcast {
  Shape shape;
  std::array<Shape, 2> strides;

  int64_t inner() const { return shape.back(); }
  int64_t outer() const { return elements(shape) / shape.back(); }
  /// Where run `outer` of an operand begins.
  int64_t begin(size_t operand, int64_t outer) const {
    int64_t at = 0;
    for (size_t d = shape.size() - 1; d-- > 0; outer /= shape[d]) at += outer % shape[d] * strides[operand][d];
    return at;
  }
};

Broadcast merged(const Shape& a, const Shape& b, const Shape& out) {
  const std::array<Shape, 2> strides{broadcast_strides(a, out), broadcast_strides(b, out)};
  Broadcast result;
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    const bool runs_on = !result.shape.empty() && result.strides[0].back() == strides[0][d] * out[d] &&
                         result.strides[1].back() == strides[1][d] * out[d];
    if (!runs_on) {
      result.shape.push_back(out[d]);
      for (size_t k = 0; k < 2; ++k) result.strides[k].push_back(strides[k][d]);
      continue;
    }
    result.shape.back() *= out[d];
    for (size_t k = 0; k < 2; ++k) result.strides[k].back() = strides[k][d];
  }
  if (result.shape.empty()) {
    result.shape = {1};
    result.strides = {Shape{0}, Shape{0}};
  }
  return result;
}

template <class T, class Fn>
void unary_loop(int64_t count, const T* x, T* y, const Fn& fn) {
#pragma omp parallel for simd if (parallel : count >= kParallelFrom)
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(fn(x[i]));
}

template <class T, class Fn>
void equal_loop(int64_t count, const T* a, const T* b, T* y, const Fn& fn) {
#pragma omp parallel for simd if (parallel : count >= kParallelFrom)
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(fn(a[i], b[i]));
}

template <class T, class Fn>
void broadcast_loop(const Broadcast& over, const T* a, const T* b, T* y, const Fn& fn) {
  const int64_t outer = over.outer(), inner = over.inner();
  const bool a_runs = over.strides[0].back() != 0, b_runs = over.strides[1].back() != 0;
#pragma omp parallel for if (outer * inner >= kParallelFrom)
  for (int64_t row = 0; row < outer; ++row) {
    const T *from_a = a + over.begin(0, row), *from_b = b + over.begin(1, row);
    T* to = y + row * inner;
    if (a_runs && b_runs) {
#pragma omp simd
      for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(fn(from_a[i], from_b[i]));
    } else if (a_runs) {
      const T other = *from_b;
#pragma omp simd
      for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(fn(from_a[i], other));
    } else {
      const T other = *from_a;
#pragma omp simd
      for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(fn(other, from_b[i * b_runs]));
    }
  }
}

KernelChoice propose(const KernelQuery& query) {
  if (std::string reason = float_refusal(query, query.inputs.size()); !reason.empty()) return {.reason = reason};
  if (query.outputs[0].elements() == 0) return {.reason = "no elements"};
  bool keeps_zero = false;
  const auto note = [&](const auto&, bool zero_to_zero) { return keeps_zero = zero_to_zero, true; };
  const bool unary = with_unary(query.op, query.attrs, note);
  if (!unary) with_binary(query.op, note);
  KernelChoice choice = accept_plain(kName, query);
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (query.inputs[i].shape == query.outputs[0].shape) choice.in_place.emplace_back(static_cast<int>(i), 0);
  }
  if (choice.in_place.size() == query.inputs.size()) {
    constexpr size_t kOperands[] = {0, 1};
    const Layout layout = meeting_layout(query, std::span(kOperands).first(query.inputs.size()), keeps_zero);
    choice.inputs.assign(query.inputs.size(), layout);
    choice.outputs = {layout};
  }
  return choice;
}

std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) {
  const int64_t count = padded_elements(query.outputs[0], choice.outputs[0]);
  std::unique_ptr<Kernel> made;
  with_unary(query.op, query.attrs, [&](const auto& fn, bool) {
    made = for_loop_type(query, [&](auto zero) {
      using T = decltype(zero);
      return make_loop([=](const Operands& at) { unary_loop(count, at.in<T>(0), at.out<T>(0), fn); });
    });
    return true;
  });
  if (made) return made;
  const bool equal = query.inputs[0].shape == query.inputs[1].shape;
  const Broadcast over = merged(query.inputs[0].shape, query.inputs[1].shape, query.outputs[0].shape);
  with_binary(query.op, [&](const auto& fn, bool) {
    made = for_loop_type(query, [&](auto zero) {
      using T = decltype(zero);
      if (equal) {
        return make_loop([=](const Operands& at) { equal_loop(count, at.in<T>(0), at.in<T>(1), at.out<T>(0), fn); });
      }
      return make_loop([=](const Operands& at) { broadcast_loop(over, at.in<T>(0), at.in<T>(1), at.out<T>(0), fn); });
    });
    return true;
  });
  return made;
}

}  // namespace

KernelDef pointwise_kernel() {
  return {kName,
          {"relu", "relu_grad", "add", "sub", "mul", "div", "maximum", "minimum", "neg", "abs", "sign", "square",
           "sqrt", "rsqrt", "exp", "log", "tanh", "sigmoid", "scale"},
          propose,
          make};
}

}  // namespace partita
