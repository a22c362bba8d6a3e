#include "ir/ops/matmul/matmul.h"

#include "ir/ops/full_precision.h"
#include "ir/ops/kernels.h"

namespace partita {
namespace {

/// Number of products, and the rows, inner size and columns of each.
struct Sizes {
  int64_t batch = 1, i = 0, k = 0, j = 0;
  bool batch_a = false, batch_b = false;  // whether the operand has the batch dimensions
};

Sizes sizes_of(const MatmulAttrs& attrs, const Shape& a, const Shape& b) {
  Sizes sizes;
  const size_t last_a = a.size() - 1, last_b = b.size() - 1;
  sizes.i = a[attrs.transpose_a ? last_a : last_a - 1];
  sizes.k = a[attrs.transpose_a ? last_a - 1 : last_a];
  sizes.j = b[attrs.transpose_b ? last_b - 1 : last_b];
  sizes.batch_a = a.size() > 2;
  sizes.batch_b = b.size() > 2;
  const Shape& lead = sizes.batch_a ? a : b;
  for (size_t d = 0; d + 2 < lead.size(); ++d) sizes.batch *= lead[d];
  return sizes;
}

std::vector<Type> infer_matmul(const OpCall& call) {
  const Shape& a = call.inputs[0].shape;
  const Shape& b = call.inputs[1].shape;
  const auto refuse = [&](const std::string& expected) {
    reject("matmul", "shapes do not fit", print(a) + " and " + print(b), expected);
  };
  if (a.size() < 2 || b.size() < 2) refuse("at least 2 dimensions");
  const auto& attrs = call.attrs.as<MatmulAttrs>();
  const int64_t inner_b = b[b.size() - (attrs.transpose_b ? 1 : 2)];
  const Sizes sizes = sizes_of(attrs, a, b);
  if (sizes.k != inner_b) refuse(fmt::format("equal inner sizes, not {} and {}", sizes.k, inner_b));
  const Shape lead_a(a.begin(), a.end() - 2), lead_b(b.begin(), b.end() - 2);
  if (!lead_a.empty() && !lead_b.empty() && lead_a != lead_b) refuse("equal leading dimensions");
  Shape shape = lead_a.empty() ? lead_b : lead_a;
  shape.push_back(sizes.i);
  shape.push_back(sizes.j);
  return {Type{call.inputs[0].dtype, shape}};
}

ShardingRule rule_matmul(const OpCall& call) {
  const auto& attrs = call.attrs.as<MatmulAttrs>();
  const auto lead = [&](size_t operand) { return call.inputs[operand].rank() > 2 ? ".." : ""; };
  const std::string text = fmt::format("{}{},{}{}->{}ij", lead(0), attrs.transpose_a ? "ki" : "ik", lead(1),
                                       attrs.transpose_b ? "jk" : "kj", call.inputs[0].rank() > 2 ? lead(0) : lead(1));
  return einsum(text, call).linear_in({0}).linear_in({1});
}

Value product(const GradCall& call, Value a, Value b, bool transpose_a, bool transpose_b) {
  return call.apply("matmul", {a, b}, MatmulAttrs{transpose_a, transpose_b});
}

std::vector<Value> grad_matmul(const GradCall& call) {
  const auto& attrs = call.attrs.as<MatmulAttrs>();
  const bool ta = attrs.transpose_a, tb = attrs.transpose_b;
  const Value a = call.inputs[0], b = call.inputs[1], d = call.d_outputs[0];
  const Value d_a = ta ? product(call, b, d, tb, true) : product(call, d, b, false, !tb);
  if (a.type().rank() > 2 && b.type().rank() == 2 && !ta) {
    // One product over all rows instead of a sum of products.
    return {d_a, tb ? call.apply("matmul_rows", {d, a}) : call.apply("matmul_rows", {a, d})};
  }
  const Value d_b = tb ? product(call, d, a, true, ta) : product(call, a, d, !ta, false);
  return {sum_to(call, d_a, a.type()), sum_to(call, d_b, b.type())};
}

/// Copies one matrix as rows x columns, transposing it if it is stored the other way.
template <class T>
void pack(const T* from, bool transposed, int64_t rows, int64_t columns, T* to) {
  if (!transposed) {
    std::copy(from, from + rows * columns, to);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[r * columns + c] = from[c * rows + r];
  }
}

constexpr auto run_matmul = []<class T>(const MatmulAttrs& attrs, Inputs in, Outputs out) {
  if (out[0].type.elements() == 0) return;
  const Sizes sizes = sizes_of(attrs, in[0].type.shape, in[1].type.shape);
  const T *a = in[0].as<T>(), *b = in[1].as<T>();
  T* y = out[0].as<T>();
  std::vector<T> left(sizes.i * sizes.k), right(sizes.k * sizes.j), row(sizes.j);
  for (int64_t n = 0; n < sizes.batch; ++n) {
    if (n == 0 || sizes.batch_a) {
      pack(a + n * sizes.i * sizes.k, attrs.transpose_a, sizes.i, sizes.k, left.data());
    }
    if (n == 0 || sizes.batch_b) {
      pack(b + n * sizes.k * sizes.j, attrs.transpose_b, sizes.k, sizes.j, right.data());
    }
    for (int64_t i = 0; i < sizes.i; ++i) {
      std::ranges::fill(row, 0);
      for (int64_t k = 0; k < sizes.k; ++k) {
        const T factor = left[i * sizes.k + k];
        const T* other = right.data() + k * sizes.j;
        T* sum = row.data();
        for (int64_t j = 0; j < sizes.j; ++j) sum[j] += factor * other[j];
      }
      y = std::ranges::copy(row, y).out;
    }
  }
};

/// Returns the product of `a` and `b` over the dimensions listed in pairs; those of 16 bits are added in f32.
Hlo dot(const EmitCall& call, const Hlo& a, const Hlo& b, const std::string& dims, const Shape& shape) {
  const bool is_half = partita::is_half(a.type.dtype);
  const Hlo product =
      call.body.add_typed("stablehlo.dot_general", {a, b}, dims + std::string(is_half ? "" : kFullPrecision),
                          {is_half ? DType::f32 : a.type.dtype, shape});
  return call.convert(product, call.outputs[0].dtype);
}

std::vector<Hlo> emit_matmul(const EmitCall& call) {
  const auto& attrs = call.attrs.as<MatmulAttrs>();
  const Type& result = call.outputs[0];
  Hlo a = call.inputs[0], b = call.inputs[1];
  // An operand without batch dimensions is repeated, unless the rows of `a` can all be multiplied by one `b`.
  const auto lead = static_cast<size_t>(result.rank() - 2);
  const bool is_one_product = b.type.rank() == 2 && !attrs.transpose_a;
  if (!is_one_product) {
    for (Hlo* operand : {&a, &b}) {
      Shape shape(result.shape.begin(), result.shape.begin() + static_cast<std::ptrdiff_t>(lead));
      shape.insert(shape.end(), operand->type.shape.end() - 2, operand->type.shape.end());
      *operand = call.broadcast(*operand, shape);
    }
  }
  const int64_t inner_a = a.type.rank() - (attrs.transpose_a ? 2 : 1),
                inner_b = b.type.rank() - (attrs.transpose_b ? 1 : 2);
  std::vector<int64_t> batch;
  for (size_t d = 0; d < lead && !is_one_product; ++d) batch.push_back(static_cast<int64_t>(d));
  const std::string batching =
      batch.empty() ? "" : fmt::format(", batching_dims = [{0}] x [{0}]", fmt::join(batch, ", "));
  return {dot(call, a, b, fmt::format("{}, contracting_dims = [{}] x [{}]", batching, inner_a, inner_b), result.shape)};
}

OpDef matmul_op() {
  OpDef op =
      new_op("matmul", "y[.., i, j] = sum over k of a[.., i, k] b[.., k, j]; one operand may lack the batch dimensions",
             {.count = 2, .floats = {0}, .same_dtype = true}, MatmulAttrs{});
  op.traits.halves = {.operands = {0, 1}, .results = 1};
  op.infer = infer_matmul;
  op.rule = rule_matmul;
  op.grad = grad_matmul;
  op.emit = emit_matmul;
  op.flops_per_point = 2;
  op.kernel = float_kernel<float, MatmulAttrs>(run_matmul);
  op.samples = {
      {{sample_of({6, 4}), sample_of({4, 5})}},
      {{sample_of({4, 6}), sample_of({7, 4})}, MatmulAttrs{true, true}},
      {{sample_of({2, 3, 4, 5}), sample_of({2, 3, 6, 5})}, MatmulAttrs{false, true}},
      {{sample_of({4, 3, 2}), sample_of({4, 3, 5})}, MatmulAttrs{true, false}},
      {{sample_of({2, 4, 6}), sample_of({6, 4})}},
      {{sample_of({2, 4, 3}), sample_of({5, 4})}, MatmulAttrs{true, true}},
      {{sample_of({4, 6}), sample_of({3, 6, 2})}},
  };
  return op;
}

constexpr auto kMatmulRows = "matmul_rows";

std::vector<Type> infer_matmul_rows(const OpCall& call) {
  const Shape &a = call.inputs[0].shape, &b = call.inputs[1].shape;
  if (a.size() < 2 || a.size() != b.size() || !std::equal(a.begin(), a.end() - 1, b.begin())) {
    reject(kMatmulRows, "shapes do not fit", print(a) + " and " + print(b),
           "two dimensions or more, equal but for the last");
  }
  return {Type{call.inputs[0].dtype, {a.back(), b.back()}}};
}

constexpr auto run_matmul_rows = []<class T>(Inputs in, Outputs out) {
  const int64_t left = in[0].type.shape.back(), right = in[1].type.shape.back();
  if (left * right == 0) return;
  T* sums = out[0].as<T>();
  std::fill_n(sums, left * right, T{});
  const T *a = in[0].as<T>(), *b = in[1].as<T>();
  for (int64_t row = 0; row < in[0].type.elements() / left; ++row, a += left, b += right) {
    for (int64_t i = 0; i < left; ++i) {
      for (int64_t j = 0; j < right; ++j) sums[i * right + j] += a[i] * b[j];
    }
  }
};

/// Returns the op for the gradient of a matrix that multiplies the rows of many batches. Its rows may be cut along any
/// dimension.
std::vector<Hlo> emit_matmul_rows(const EmitCall& call) {
  const auto flat = [&](const Hlo& x) {
    return call.reshape(x, {x.type.elements() / std::max<int64_t>(1, x.type.shape.back()), x.type.shape.back()});
  };
  return {
      dot(call, flat(call.inputs[0]), flat(call.inputs[1]), ", contracting_dims = [0] x [0]", call.outputs[0].shape)};
}

OpDef matmul_rows_op() {
  OpDef op = new_op(kMatmulRows, "y[i, j] = sum over all rows of a[.., i] b[.., j]",
                    {.count = 2, .floats = {0}, .same_dtype = true});
  op.traits.halves = {.operands = {0, 1}, .results = 1};
  op.infer = infer_matmul_rows;
  op.emit = emit_matmul_rows;
  op.rule = [](const OpCall& call) { return einsum("..i,..j->ij", call).linear_in({0}).linear_in({1}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value a = call.inputs[0], b = call.inputs[1], d = call.d_outputs[0];
    return {product(call, b, d, false, true), product(call, a, d, false, false)};
  };
  op.flops_per_point = 2;
  op.kernel = float_kernel<float>(run_matmul_rows);
  op.samples = {{{sample_of({6, 4}), sample_of({6, 5})}},
                {{sample_of({2, 3, 4}), sample_of({2, 3, 5})}},
                {{sample_of({2, 3, 4, 2}), sample_of({2, 3, 4, 3})}}};
  return op;
}

}  // namespace

std::vector<OpDef> matmul_ops() { return {matmul_op(), matmul_rows_op()}; }

}  // namespace partita
