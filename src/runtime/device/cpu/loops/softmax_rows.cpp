// softmax, log_softmax and their gradients over the last dimension: rows in parallel, sums in f64.

#include <cmath>

#include "base/vector_math.h"
#include "ir/ops/norm/softmax.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kSoftmaxRows = "loops.softmax_rows";

template <class T>
void softmax_row(int64_t size, const T* x, T* y, bool logarithm) {
  if (size == 0) return;
  T largest = x[0];
#pragma omp simd reduction(max : largest)
  for (int64_t z = 1; z < size; ++z) largest = larger(x[z], largest);
  double sum = 0;
  if (logarithm) {
#pragma omp simd reduction(+ : sum)
    for (int64_t z = 0; z < size; ++z) sum += static_cast<double>(exp_of(x[z] - largest));
    const T log_sum = static_cast<T>(std::log(sum));
#pragma omp simd
    for (int64_t z = 0; z < size; ++z) y[z] = x[z] - largest - log_sum;
    return;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t z = 0; z < size; ++z) {
    y[z] = exp_of(x[z] - largest);
    sum += static_cast<double>(y[z]);
  }
  const T share = static_cast<T>(1 / sum);
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) y[z] *= share;
}

template <class T>
void softmax_grad_row(int64_t size, const T* y, const T* d_y, T* d_x, bool logarithm) {
  double sum = 0;
  if (logarithm) {
#pragma omp simd reduction(+ : sum)
    for (int64_t z = 0; z < size; ++z) sum += static_cast<double>(d_y[z]);
    const T total = static_cast<T>(sum);
#pragma omp simd
    for (int64_t z = 0; z < size; ++z) d_x[z] = d_y[z] - exp_of(y[z]) * total;
    return;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t z = 0; z < size; ++z) sum += static_cast<double>(y[z]) * static_cast<double>(d_y[z]);
  const T total = static_cast<T>(sum);
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) d_x[z] = y[z] * (d_y[z] - total);
}

template <class T>
LoopFn bind_softmax_rows(const KernelQuery& query) {
  const Rows rows = rows_of(query.inputs[0].shape);
  const bool logarithm = query.op.starts_with("log_"), grad = query.inputs.size() == 2;
  return [=](auto in, auto out, void*) {
    const T *x = static_cast<const T*>(in[0]), *d_y = grad ? static_cast<const T*>(in[1]) : nullptr;
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for if (rows.count * rows.size > kSerialElements)
    for (int64_t row = 0; row < rows.count; ++row) {
      const int64_t at = row * rows.size;
      grad ? softmax_grad_row(rows.size, x + at, d_y + at, y + at, logarithm)
           : softmax_row(rows.size, x + at, y + at, logarithm);
    }
  };
}

}  // namespace

std::vector<KernelDef> softmax_rows_kernels() {
  KernelDef def{.name = kSoftmaxRows, .ops = {"softmax", "log_softmax", "softmax_grad", "log_softmax_grad"}};
  def.propose = [](const KernelQuery& query) {
    std::vector<std::pair<int, int>> in_place{{0, 0}};
    if (query.inputs.size() == 2) in_place.emplace_back(1, 0);
    return propose_dense(kSoftmaxRows, query, std::move(in_place));
  };
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    return make_loop(query.inputs[0].dtype == DType::f64 ? bind_softmax_rows<double>(query)
                                                         : bind_softmax_rows<float>(query));
  };
  return {def};
}

}  // namespace partita
