// Products of f64 matrices.

#include "ir/ops/matmul/matmul.h"
#include "runtime/device/cpu/loops/gemm.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kMatmulF64 = "loops.matmul";

/// Operands of one product, given by strides, and the distances to those of the next one.
struct Matmul {
  int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  gemm::Matrix a{}, b{};
  int64_t next_a = 0, next_b = 0;

  gemm::Sizes sizes(int threads) const { return gemm::tiled(batch, rows, columns, inner, threads); }
};

/// The product of matmul_rows: leading dimensions of `a` and `b` are merged to rows, and `a` is transposed.
Matmul product_of_rows(const Type& a, const Type& b) {
  const int64_t rows = a.shape.back(), columns = b.shape.back();
  return {.rows = rows,
          .columns = columns,
          .inner = rows == 0 ? 0 : a.elements() / rows,
          .a = {.row_stride = 1, .column_stride = rows},
          .b = {.row_stride = columns, .column_stride = 1}};
}

Matmul matmul_of(const KernelQuery& query) {
  if (query.op == "matmul_rows") return product_of_rows(query.inputs[0], query.inputs[1]);
  const auto& attrs = query.attrs.as<MatmulAttrs>();
  const Shape &a = query.inputs[0].shape, &b = query.inputs[1].shape, &y = query.outputs[0].shape;
  Matmul matmul{.rows = y[y.size() - 2], .columns = y.back()};
  matmul.inner = a[a.size() - (attrs.transpose_a ? 2 : 1)];
  matmul.a.row_stride = attrs.transpose_a ? 1 : matmul.inner;
  matmul.a.column_stride = attrs.transpose_a ? matmul.rows : 1;
  matmul.b.row_stride = attrs.transpose_b ? 1 : matmul.columns;
  matmul.b.column_stride = attrs.transpose_b ? matmul.inner : 1;
  for (size_t d = 0; d + 2 < y.size(); ++d) matmul.batch *= y[d];
  if (b.size() == 2 && !attrs.transpose_a) {  // all products have the same b: multiply their rows at once
    matmul.rows *= matmul.batch;
    matmul.batch = 1;
  }
  matmul.next_a = a.size() == 2 ? 0 : matmul.rows * matmul.inner;
  matmul.next_b = b.size() == 2 ? 0 : matmul.inner * matmul.columns;
  return matmul;
}

KernelChoice propose_matmul_f64(const KernelQuery& query) {
  if (query.inputs[0].dtype != DType::f64) return refuse("only f64");
  KernelChoice choice = propose_dense(kMatmulF64, query);
  choice.scratch_bytes = omp_get_max_threads() * matmul_of(query).sizes(1).scratch_bytes();
  return choice;
}

std::unique_ptr<Kernel> make_matmul_f64(const KernelQuery& query, const KernelChoice& choice) {
  const Matmul matmul = matmul_of(query);
  const int threads = threads_within(matmul.sizes(1).scratch_bytes(), choice.scratch_bytes);
  return make_loop([matmul, threads, sizes = matmul.sizes(threads)](auto in, auto out, void* scratch) {
    gemm::multiply(sizes, threads, scratch, [&](int64_t i) {
      gemm::MatrixProduct product{matmul.a, matmul.b, static_cast<double*>(out[0]) + i * matmul.rows * matmul.columns,
                                  matmul.columns};
      product.a.data = static_cast<const double*>(in[0]) + i * matmul.next_a;
      product.b.data = static_cast<const double*>(in[1]) + i * matmul.next_b;
      return product;
    });
  });
}

}  // namespace

std::vector<KernelDef> matmul_f64_kernels() {
  return {{kMatmulF64, {"matmul", "matmul_rows"}, propose_matmul_f64, make_matmul_f64}};
}

}  // namespace partita
