// Orthogonalization of f64 matrices by products of tiles.

#include "ir/ops/matmul/orthogonalize.h"
#include "runtime/device/cpu/loops/gemm.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kOrthogonalizeF64 = "loops.orthogonalize";

/// The scratch memory of one matrix: two Gram matrices, then a matrix like the operand, then that of products.
struct OrthogonalizeRoom {
  int64_t gram, matrix;

  explicit OrthogonalizeRoom(const MatrixSizes& sizes)
      : gram(rounded(sizes.shorter() * sizes.shorter())), matrix(rounded(sizes.elements())) {}
  static int64_t rounded(int64_t elements) { return (elements + 7) / 8 * 8; }
  int64_t bytes() const { return (2 * gram + matrix) * static_cast<int64_t>(sizeof(double)); }
};

/// Bytes that products need for each thread.
int64_t product_bytes(const MatrixSizes& sizes, int threads) {
  const int64_t s = sizes.shorter(), l = sizes.longer();
  return std::max({gemm::tiled(1, s, s, l, threads).scratch_bytes(), gemm::tiled(1, s, s, s, threads).scratch_bytes(),
                   gemm::tiled(1, sizes.rows, sizes.columns, s, threads).scratch_bytes()});
}

/// Multiplies on all threads that have room.
struct Multiplier {
  int threads;
  void* scratch;

  void run(int64_t rows, int64_t columns, int64_t inner, const gemm::MatrixProduct& product) const {
    gemm::multiply(gemm::tiled(1, rows, columns, inner, threads), threads, scratch, [&](int64_t) { return product; });
  }
};

/// Orthogonalizes one matrix from `x` to `y`. An odd number of steps begins in the room and ends in `y`.
void orthogonalize_f64(const OrthogonalizeAttrs& attrs, const MatrixSizes& sizes, const double* x, double* y,
                       double* room, const Multiplier& multiplier) {
  using N = NewtonSchulz;
  const OrthogonalizeRoom rooms(sizes);
  const int64_t s = sizes.shorter(), l = sizes.longer(), c = sizes.columns, count = sizes.elements();
  const bool is_wide = sizes.rows <= sizes.columns;
  double *gram = room, *mixed = gram + rooms.gram, *now = attrs.steps % 2 == 0 ? y : mixed + rooms.gram;
  double* next = attrs.steps % 2 == 0 ? mixed + rooms.gram : y;
  const double inverse = inverse_norm(x, count, attrs.epsilon);
  for (int64_t i = 0; i < count; ++i) now[i] = x[i] * inverse;
  for (int64_t step = 0; step < attrs.steps; ++step) {
    const gemm::Matrix rows{now, c, 1}, columns{now, 1, c};
    multiplier.run(s, s, l, {is_wide ? rows : columns, is_wide ? columns : rows, gram, s});
    for (int64_t i = 0; i < s * s; ++i) mixed[i] = N::kCubic * gram[i];
    const gemm::Matrix of_gram{gram, s, 1}, of_mixed{mixed, s, 1};
    multiplier.run(s, s, s, {of_gram, of_gram, mixed, s, N::kQuintic, true});
    for (int64_t i = 0; i < count; ++i) next[i] = N::kLinear * now[i];
    multiplier.run(sizes.rows, c, s, {is_wide ? of_mixed : rows, is_wide ? rows : of_mixed, next, c, 1, true});
    std::swap(now, next);
  }
}

KernelChoice propose_orthogonalize_f64(const KernelQuery& query) {
  if (query.inputs[0].dtype != DType::f64) return refuse("only f64");
  KernelChoice choice = propose_dense(kOrthogonalizeF64, query);
  if (!choice.accepted()) return choice;
  if (query.outputs[0].elements() == 0) return refuse("empty");
  const MatrixSizes sizes(query.inputs[0].shape, query.attrs.as<OrthogonalizeAttrs>().batch);
  choice.scratch_bytes = OrthogonalizeRoom(sizes).bytes() + omp_get_max_threads() * product_bytes(sizes, 1);
  return choice;
}

std::unique_ptr<Kernel> make_orthogonalize_f64(const KernelQuery& query, const KernelChoice& choice) {
  const auto attrs = query.attrs.as<OrthogonalizeAttrs>();
  const MatrixSizes sizes(query.inputs[0].shape, attrs.batch);
  const int64_t own = OrthogonalizeRoom(sizes).bytes();
  const int threads = threads_within(product_bytes(sizes, 1), choice.scratch_bytes - own);
  return make_loop([=](auto in, auto out, void* scratch) {
    auto* room = static_cast<double*>(scratch);
    const Multiplier multiplier{threads, static_cast<char*>(scratch) + own};
    for (int64_t i = 0; i < sizes.batch; ++i) {
      const int64_t first = i * sizes.elements();
      orthogonalize_f64(attrs, sizes, static_cast<const double*>(in[0]) + first, static_cast<double*>(out[0]) + first,
                        room, multiplier);
    }
  });
}

}  // namespace

std::vector<KernelDef> orthogonalize_f64_kernels() {
  return {{kOrthogonalizeF64, {"orthogonalize"}, propose_orthogonalize_f64, make_orthogonalize_f64}};
}

}  // namespace partita
