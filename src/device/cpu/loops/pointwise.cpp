// Functions of one or two operands, element by element: in any layout on operands of one shape, and on
// dense ones that are broadcast.

#include <array>
#include <cmath>

#include "device/cpu/loops/loop_support.h"
#include "device/cpu/loops/vector_math.h"
#include "ops/gelu.h"
#include "ops/pow.h"
#include "ops/scale.h"
#include "ops/support.h"

namespace partita {
namespace {

constexpr auto kPointwise = "loops.pointwise";

/// The approximate distribution function of gelu, and its slope.
template <class T>
struct GeluTanh {
  T value, slope;
};
template <class T>
GeluTanh<T> gelu_tanh(T x) {
  const T scale = static_cast<T>(kGeluScale), cube = static_cast<T>(kGeluCube);
  const T t = tanh_of(scale * (x + cube * x * x * x));
  return {T(0.5) * (1 + t), T(0.5) * (1 - t * t) * scale * (1 + 3 * cube * x * x)};
}

double log1p_of(double x) { return std::log1p(x); }

/// For 0 <= x <= 1, within 3 units in the last place: 2 artanh(x / (2 + x)) by its series.
float log1p_of(float x) {
  const float ratio = x / (2 + x), square = ratio * ratio;
  const float sum = polynomial(square, 1.0f / 15, 1.0f / 13, 1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3);
  return 2 * (ratio + ratio * square * sum);
}

double erf_of(double x) { return std::erf(x); }

/// Within 3 units in the last place (the polynomials are those of N. Juffa's erff).
float erf_of(float x) {
  const float size = std::abs(x), square = x * x;
  const float power = polynomial(size, -1.72853470e-5f, 3.83197126e-4f, -3.88396438e-3f, 2.42546219e-2f,
                                 -1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f);
  const float far = std::copysign(1 - exp_of(power * size - size), x);
  const float sum = polynomial(square, -5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
                               -3.76125336e-1f, 1.28379166e-1f);
  return chosen(size_bits(x) < size_bits(0.927734375f), x + x * sum, far);
}

template <class T>
T softplus_of(T x) {
  return (x < 0 ? 0 : x) + log1p_of(exp_of(-std::abs(x)));
}

template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + exp_of(-x));
}

/// Calls use(function, whether it maps 0 to 0) for a power; the common ones become vector code. Adding 0
/// makes a negative zero positive, as its square root is not otherwise.
template <class Use>
bool with_power(double exponent, Use&& use) {
  if (exponent == -2) return use([](auto x) { return (1 / x) * (1 / x); }, false);
  if (exponent == -1) return use([](auto x) { return 1 / x; }, false);
  if (exponent == -0.5) return use([](auto x) { return 1 / std::sqrt(x + 0); }, false);
  if (exponent == 0.5) return use([](auto x) { return std::sqrt(x + 0); }, true);
  if (exponent == 1) return use([](auto x) { return x; }, true);
  if (exponent == 1.5) return use([](auto x) { return x * std::sqrt(x); }, true);
  if (exponent == 2) return use([](auto x) { return x * x; }, true);
  if (exponent == 3) return use([](auto x) { return x * x * x; }, true);
  if (exponent == 4) return use([](auto x) { return (x * x) * (x * x); }, true);
  return use([=](auto x) { return static_cast<decltype(x)>(power_of(static_cast<double>(x), exponent)); },
             exponent > 0);
}

/// Calls use(function, whether it maps 0 to 0, as padding must be) for an op with one operand; the
/// numbers of scale come from `attrs`.
template <class Use>
bool with_unary(const std::string& op, const Attrs& attrs, Use&& use) {
  if (op == "relu") return use([](auto x) { return x < 0 ? 0 : x; }, true);
  if (op == "neg") return use([](auto x) { return -x; }, true);
  if (op == "abs") return use([](auto x) { return std::abs(x); }, true);
  if (op == "square") return use([](auto x) { return x * x; }, true);
  if (op == "sqrt") return use([](auto x) { return std::sqrt(x); }, true);
  if (op == "tanh") return use([](auto x) { return tanh_of(x); }, true);
  if (op == "exp") return use([](auto x) { return exp_of(x); }, false);
  if (op == "log") return use([](auto x) { return std::log(x); }, false);
  if (op == "rsqrt") return use([](auto x) { return 1 / std::sqrt(x); }, false);
  if (op == "sigmoid") return use([](auto x) { return sigmoid_of(x); }, false);
  if (op == "silu") return use([](auto x) { return x / (1 + exp_of(-x)); }, true);
  if (op == "softplus") return use([](auto x) { return softplus_of(x); }, false);
  if (op == "erf") return use([](auto x) { return erf_of(x); }, true);
  if (op == "pow") return with_power(attrs.as<PowAttrs>().exponent, use);
  if (op == "gelu") {
    if (attrs.as<GeluAttrs>().approximate) return use([](auto x) { return x * gelu_tanh(x).value; }, true);
    return use([](auto x) { return x * normal_cdf(x); }, true);
  }
  if (op != "scale") return false;
  const double scale = attrs.as<ScaleAttrs>().scale, bias = attrs.as<ScaleAttrs>().bias;
  return use([=](auto x) { return x * decltype(x)(scale) + decltype(x)(bias); }, bias == 0);
}

/// The same for two operands.
template <class Use>
bool with_binary(const std::string& op, const Attrs& attrs, Use&& use) {
  if (op == "gelu_grad") {
    if (attrs.as<GeluAttrs>().approximate) {
      return use([](auto d_y, auto x) { return d_y * (gelu_tanh(x).value + x * gelu_tanh(x).slope); }, true);
    }
    return use([](auto d_y, auto x) { return d_y * (normal_cdf(x) + x * normal_density(x)); }, true);
  }
  if (op == "silu_grad") {
    return use(
        [](auto d_y, auto x) {
          const auto gate = sigmoid_of(x);
          return d_y * (gate * (1 + x * (1 - gate)));
        },
        true);
  }
  if (op == "binary_cross_entropy") {
    return use(
        [](auto x, auto label) { return (x < 0 ? -x * label : x * (1 - label)) + log1p_of(exp_of(-std::abs(x))); },
        false);
  }
  if (op == "add") return use([](auto a, auto b) { return a + b; }, true);
  if (op == "sub") return use([](auto a, auto b) { return a - b; }, true);
  if (op == "mul") return use([](auto a, auto b) { return a * b; }, true);
  if (op == "div") return use([](auto a, auto b) { return a / b; }, false);
  if (op == "maximum") return use([](auto a, auto b) { return b > a || b != b ? b : a; }, true);
  if (op == "minimum") return use([](auto a, auto b) { return b < a || b != b ? b : a; }, true);
  if (op == "relu_grad") return use([](auto d_y, auto y) { return y <= 0 ? 0 : d_y; }, true);
  return false;
}

/// Two operands read over the output, dimensions merged where both run on; in the last one each has
/// stride 0 or 1.
struct Broadcast {
  Shape shape;
  std::array<Shape, 2> strides;

  /// Where run `outer` of an operand begins.
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

template <class T, class Fn>
LoopFn bind_unary(const Fn& fn, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for simd if (parallel : count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(fn(x[i]));
  };
}

template <class T, class Fn>
LoopFn bind_binary(const Fn& fn, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for simd if (parallel : count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(fn(a[i], b[i]));
  };
}

template <class T, class Fn>
LoopFn bind_broadcast(const Fn& fn, const Broadcast& over) {
  return [=](auto in, auto out, void*) {
    const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
    T* y = static_cast<T*>(out[0]);
    const int64_t inner = over.shape.back(), rows = elements(over.shape) / inner;
    const int64_t step_a = over.strides[0].back(), step_b = over.strides[1].back();
#pragma omp parallel for if (rows * inner > kSerialElements)
    for (int64_t row = 0; row < rows; ++row) {
      const T *from_a = a + over.begin(0, row), *from_b = b + over.begin(1, row);
      T* to = y + row * inner;
      if (step_b == 0) {
        const T other = *from_b;
#pragma omp simd
        for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(fn(from_a[i * step_a], other));
      } else if (step_a == 0) {
        const T other = *from_a;
#pragma omp simd
        for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(fn(other, from_b[i]));
      } else {
#pragma omp simd
        for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(fn(from_a[i], from_b[i]));
      }
    }
  };
}

KernelChoice propose_pointwise(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  if (query.outputs[0].elements() == 0) return refuse("empty");
  bool keeps_zero = false;
  const auto note = [&](const auto&, bool zero_to_zero) { return keeps_zero = zero_to_zero, true; };
  if (!with_unary(query.op, query.attrs, note)) with_binary(query.op, query.attrs, note);
  KernelChoice choice{.kernel = kPointwise,
                      .inputs = std::vector<Layout>(query.inputs.size()),
                      .outputs = std::vector<Layout>(query.outputs.size())};
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (query.inputs[i].shape == query.outputs[0].shape) choice.in_place.emplace_back(static_cast<int>(i), 0);
  }
  if (choice.in_place.size() < query.inputs.size()) return choice;  // broadcast: dense
  const Layout layout = common_layout(query, query.inputs.size());
  if (!keeps_zero && stored_elements(query.outputs[0], layout) != query.outputs[0].elements()) return choice;
  choice.inputs.assign(query.inputs.size(), layout);
  choice.outputs = {layout};
  return choice;
}

std::unique_ptr<Kernel> make_pointwise(const KernelQuery& query, const KernelChoice& choice) {
  const Type& type = query.outputs[0];
  const int64_t count = stored_elements(type, choice.outputs[0]);
  LoopFn loop;
  for_loop_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_unary(query.op, query.attrs, [&](const auto& fn, bool) { return loop = bind_unary<T>(fn, count), true; });
    with_binary(query.op, query.attrs, [&](const auto& fn, bool) {
      const bool equal = query.inputs[0].shape == query.inputs[1].shape;
      loop = equal ? bind_binary<T>(fn, count)
                   : bind_broadcast<T>(fn, merged(query.inputs[0].shape, query.inputs[1].shape, type.shape));
      return true;
    });
  });
  return make_loop(std::move(loop));
}

}  // namespace

KernelDef pointwise_kernel() {
  return {kPointwise,
          {"relu",     "relu_grad",
           "add",      "sub",
           "mul",      "div",
           "maximum",  "minimum",
           "neg",      "abs",
           "square",   "sqrt",
           "rsqrt",    "exp",
           "log",      "tanh",
           "sigmoid",  "scale",
           "gelu",     "gelu_grad",
           "silu",     "silu_grad",
           "softplus", "erf",
           "pow",      "binary_cross_entropy"},
          propose_pointwise,
          make_pointwise};
}

}  // namespace partita
