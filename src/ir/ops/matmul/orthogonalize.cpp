#include "ir/ops/matmul/orthogonalize.h"

#include "ir/graph/traced.h"
#include "ir/ops/full_precision.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

constexpr auto kOrthogonalize = "orthogonalize";
constexpr int64_t kMaxSteps = 30;

std::vector<Type> infer_orthogonalize(const OpCall& call) {
  require_operands(kOrthogonalize, call, 1);
  require_float(kOrthogonalize, call);
  const auto& attrs = call.attrs.as<OrthogonalizeAttrs>();
  const int rank = call.inputs[0].rank();
  if (attrs.batch < 0 || attrs.batch + 2 > rank) {
    reject(kOrthogonalize, "operand has no matrices", print(call.inputs[0]),
           fmt::format("{} dimensions or more", std::max<int64_t>(attrs.batch, 0) + 2));
  }
  if (attrs.steps < 1 || attrs.steps > kMaxSteps || !(attrs.epsilon > 0)) {
    reject(kOrthogonalize, "bad attributes", call.attrs.print(),
           fmt::format("1 to {} steps and a positive epsilon", kMaxSteps));
  }
  return {call.inputs[0]};
}

/// Matrices are free to be cut, rows and columns are not. A factor that no tensor has counts the multiplications of an
/// element: with s rows and l columns, or the reverse, s is at most l, a step multiplies 2 s^2 l + s^3 times.
ShardingRule rule_of_orthogonalize(const OpCall& call) {
  const auto& attrs = call.attrs.as<OrthogonalizeAttrs>();
  ShardingRule rule = pointwise_rule(call);
  const TensorMap& dims = rule.outputs[0];
  for (size_t d = static_cast<size_t>(attrs.batch); d < dims.size(); ++d) {
    for (const int factor : dims[d].factors) rule.factors[static_cast<size_t>(factor)].cutting = Cutting::whole;
  }
  const MatrixSizes sizes(call.inputs[0].shape, attrs.batch);
  const int64_t s = sizes.shorter(), l = std::max<int64_t>(sizes.longer(), 1);
  rule.factors.push_back({.name = 'z',
                          .size = std::max<int64_t>(attrs.steps * (2 * s + s * s / l), 1),
                          .cutting = Cutting::whole,
                          .reduce = Reduce::sum});
  return rule;
}

/// y[rows, columns] = factor a b + of_sum sum, where a is [rows, inner] and b is [inner, columns], given by strides.
template <class T>
struct PlainProduct {
  const T *a, *b;
  int64_t a_row, a_column, b_row, b_column;
  int64_t rows, columns, inner;

  void run(double factor, double of_sum, const T* sum, T* y) const {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double total = 0;
        for (int64_t k = 0; k < inner; ++k) {
          total += static_cast<double>(a[i * a_row + k * a_column]) * static_cast<double>(b[k * b_row + j * b_column]);
        }
        if (of_sum != 0) total = factor * total + of_sum * static_cast<double>(sum[i * columns + j]);
        y[i * columns + j] = static_cast<T>(total);
      }
    }
  }
};

/// Orthogonalizes one matrix in place by plain loops. With `s` the shorter side, the Gram matrix G [s, s] is X X^T or
/// X^T X, and a step makes a X + (b G + c G^2) X, or the product in the other order.
template <class T>
void orthogonalize_matrix(const OrthogonalizeAttrs& attrs, const MatrixSizes& sizes, std::vector<T>& x) {
  using N = NewtonSchulz;
  const int64_t s = sizes.shorter(), l = sizes.longer(), c = sizes.columns;
  const bool is_wide = sizes.rows <= sizes.columns;
  const double inverse = inverse_norm(x.data(), sizes.elements(), attrs.epsilon);
  for (T& one : x) one = static_cast<T>(static_cast<double>(one) * inverse);
  std::vector<T> gram(static_cast<size_t>(s * s)), mixed(gram.size()), next(x.size());
  for (int64_t step = 0; step < attrs.steps; ++step) {
    const int64_t along = is_wide ? c : 1, across = is_wide ? 1 : c;  // strides between and along lines of X
    PlainProduct<T>{x.data(), x.data(), along, across, across, along, s, s, l}.run(1, 0, nullptr, gram.data());
    PlainProduct<T>{gram.data(), gram.data(), s, 1, s, 1, s, s, s}.run(N::kQuintic, N::kCubic, gram.data(),
                                                                       mixed.data());
    const PlainProduct<T> product = is_wide ? PlainProduct<T>{mixed.data(), x.data(), s, 1, c, 1, sizes.rows, c, s}
                                            : PlainProduct<T>{x.data(), mixed.data(), c, 1, s, 1, sizes.rows, c, s};
    product.run(1, N::kLinear, x.data(), next.data());
    x.swap(next);
  }
}

void run_orthogonalize(const Attrs& all, Inputs in, Outputs out) {
  const auto& attrs = all.as<OrthogonalizeAttrs>();
  const MatrixSizes sizes(in[0].type.shape, attrs.batch);
  for_float(in[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for (int64_t first = 0; first < in[0].type.elements(); first += sizes.elements()) {
      std::vector<Number> x(static_cast<size_t>(sizes.elements()));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Number>(in[0].as<T>()[first + static_cast<int64_t>(i)]);
      orthogonalize_matrix(attrs, sizes, x);
      for (size_t i = 0; i < x.size(); ++i) out[0].as<T>()[first + static_cast<int64_t>(i)] = T(x[i]);
    }
  });
}

/// Writes products of batches of matrices.
class Products {
 public:
  Products(const EmitCall& call, DType dtype, int64_t batch) : call_(call), dtype_(dtype), batch_(batch) {}

  Type type(int64_t rows, int64_t columns) const { return {dtype_, {batch_, rows, columns}}; }
  /// Returns the sum over dimension `of_a` of `a` and `of_b` of `b`. The result has the other ones, those of `a` first.
  Hlo sum(const Hlo& a, int of_a, const Hlo& b, int of_b) const {
    const Type result = type(a.type.shape[static_cast<size_t>(3 - of_a)], b.type.shape[static_cast<size_t>(3 - of_b)]);
    const std::string dims =
        fmt::format(", batching_dims = [0] x [0], contracting_dims = [{}] x [{}]{}", of_a, of_b, kFullPrecision);
    return call_.body.add_typed("stablehlo.dot_general", {a, b}, dims, result);
  }
  /// Returns factor a + other b.
  Hlo mix(double factor, const Hlo& a, double other, const Hlo& b) const {
    const Traced sum = Traced(call_, a) * Traced(factor) + Traced(call_, b) * Traced(other);
    return sum.as(call_, a.type);
  }

 private:
  const EmitCall& call_;
  DType dtype_;
  int64_t batch_;
};

/// Returns the matrices divided by their norms plus epsilon, as `inverse_norm` does.
Hlo emit_normalized(const EmitCall& call, const Hlo& x, double epsilon) {
  const auto reduced = [&](const Hlo& value, std::string_view op) {
    return call.reduce(value, op, call.splat(0, {x.type.dtype, {}}), {1, 2});
  };
  const auto spread = [&](const Hlo& value) { return Traced(call, call.broadcast_in(value, {0}, x.type.shape)); };
  const Traced sizes = abs_of(Traced(call, x));
  const Hlo most = reduced(sizes.as(call, x.type), "maximum");
  const Traced largest(call, most);
  const Traced divisor = select_of(largest == Traced(0), Traced(1), largest);
  const Traced parts = Traced(call, x) / spread(divisor.as(call, most.type));
  const Traced sum(call, reduced((parts * parts).as(call, x.type), "add"));
  const Traced norm = largest * sqrt_of(sum) + Traced(epsilon);
  return (Traced(call, x) / spread(norm.as(call, most.type))).as(call, x.type);
}

std::vector<Hlo> emit_orthogonalize(const EmitCall& call) {
  using N = NewtonSchulz;
  const auto& attrs = call.attrs.as<OrthogonalizeAttrs>();
  const Type& type = call.outputs[0];
  const DType dtype = computed_type(type.dtype);
  const MatrixSizes sizes(type.shape, attrs.batch);
  const Products products(call, dtype, sizes.batch);
  Hlo x = call.reshape(call.convert(call.inputs[0], dtype), products.type(sizes.rows, sizes.columns).shape);
  x = emit_normalized(call, x, attrs.epsilon);
  const bool is_wide = sizes.rows <= sizes.columns;
  for (int64_t step = 0; step < attrs.steps; ++step) {
    const Hlo gram = is_wide ? products.sum(x, 2, x, 2) : products.sum(x, 1, x, 1);
    const Hlo mixed = products.mix(N::kCubic, gram, N::kQuintic, products.sum(gram, 2, gram, 1));
    const Hlo product = is_wide ? products.sum(mixed, 2, x, 1) : products.sum(x, 2, mixed, 1);
    x = products.mix(N::kLinear, x, 1, product);
  }
  return {call.convert(call.reshape(x, type.shape), type.dtype)};
}

}  // namespace

std::vector<OpDef> orthogonalize_ops() {
  OpDef op;
  op.name = kOrthogonalize;
  op.summary =
      "matrices with singular values near 1: X / (norm + epsilon), then `steps` times a X + (b X X^T + c (X X^T)^2) X";
  op.attrs = OrthogonalizeAttrs{};
  op.infer = infer_orthogonalize;
  op.rule = rule_of_orthogonalize;
  op.flops_per_point = 2;
  op.kernel = run_orthogonalize;
  op.emit = emit_orthogonalize;
  op.samples = {{{sample_of({4, 6})}},
                {{sample_of({6, 3})}, OrthogonalizeAttrs{.steps = 3}},
                {{sample_of({3, 4, 2, 2})}, OrthogonalizeAttrs{.steps = 2}},
                {{sample_of({4, 3, 5})}, OrthogonalizeAttrs{.batch = 1, .steps = 2}}};
  return {op};
}

}  // namespace partita
