// layer_norm, rms_norm and their gradients over dense rows. The contributions of ranges of rows to the gradients of
// gamma and beta are summed in order. Sums of rows are in f64 where they cancel.

#include "ir/ops/norm/row_norm.h"

#include <cmath>

#include "ir/ops/norm/moments.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kRowNorm = "loops.row_norm";

/// Returns the sums of the first and of the second number of fn(z) over all z below `size`, in f64.
template <class Fn>
std::pair<double, double> sum_row(int64_t size, const Fn& fn) {
  double a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
  for (int64_t z = 0; z < size; ++z) {
    const auto [first, second] = fn(z);
    a += first;
    b += second;
  }
  return {a, b};
}

struct RowNormTerms {
  double first, second;
};

/// Returns the sum of x - near and the sum of its square over the `size` elements of a row.
template <class T>
std::pair<double, double> sum_row_deviations(int64_t size, const T* x, double near) {
  return sum_row(size, [=](int64_t z) {
    const double difference = static_cast<double>(x[z]) - near;
    return RowNormTerms{difference, difference * difference};
  });
}

/// Computes the mean and the variance of a row of at least one element, in one pass over the differences from the first
/// element. If the first element is far from the mean (`is_far`), makes a second pass over the differences from the
/// mean of the first pass.
template <class T>
Moments moments_of_row(int64_t size, const T* x) {
  const auto near = static_cast<double>(x[0]);
  const auto [rest, squares] = sum_row_deviations(size, x, near);
  const Moments found = moments_near(near, rest, squares, size);
  if (!is_far(rest / static_cast<double>(size), found.variance)) return found;
  const auto [small_rest, small_squares] = sum_row_deviations(size, x, found.mean);
  return moments_near(found.mean, small_rest, small_squares, size);
}

template <class T>
double mean_square(int64_t size, const T* x) {
  return sum_row_deviations(size, x, 0).second / static_cast<double>(size);
}

/// Binds a loop that computes y = (x - mean) * rstd * gamma + beta and stores mean and rstd of each row; rms_norm has
/// no mean and no beta.
template <class T, bool kCentered>
LoopFn bind_norm_row_norm(const Rows& rows, double epsilon) {
  return [=](auto in, auto out, void*) {
    const T *x = static_cast<const T*>(in[0]), *gamma = static_cast<const T*>(in[1]);
    const T* beta = kCentered ? static_cast<const T*>(in[2]) : nullptr;
    T* y = static_cast<T*>(out[0]);
    T* means = kCentered ? static_cast<T*>(out[1]) : nullptr;
    T* rstds = static_cast<T*>(out[kCentered ? 2 : 1]);
#pragma omp parallel for if (rows.count * rows.size > kSerialElements)
    for (int64_t row = 0; row < rows.count; ++row) {
      const T* from = x + row * rows.size;
      T* to = y + row * rows.size;
      const Moments moments = kCentered ? moments_of_row(rows.size, from) : Moments{0, mean_square(rows.size, from)};
      const T mean = static_cast<T>(moments.mean), rstd = static_cast<T>(1 / std::sqrt(moments.variance + epsilon));
      rstds[row] = rstd;
      if constexpr (kCentered) {
        means[row] = mean;
#pragma omp simd
        for (int64_t z = 0; z < rows.size; ++z) to[z] = (from[z] - mean) * rstd * gamma[z] + beta[z];
      } else {
#pragma omp simd
        for (int64_t z = 0; z < rows.size; ++z) to[z] = from[z] * rstd * gamma[z];
      }
    }
  };
}

/// Computes d_x of one row and adds to d_gamma and, if centered, to d_beta.
template <class T, bool kCentered>
void differentiate_row(int64_t size, const T* x, const T* gamma, T mean, T rstd, const T* d_y, T* d_x, T* d_gamma,
                       T* d_beta) {
  const auto [sum, projection] = sum_row(size, [=](int64_t z) {
    const double d = static_cast<double>(d_y[z]) * static_cast<double>(gamma[z]);
    return RowNormTerms{d, d * static_cast<double>((x[z] - mean) * rstd)};
  });
  const T shift = kCentered ? static_cast<T>(sum / static_cast<double>(size)) : T{};
  const T slope = static_cast<T>(projection / static_cast<double>(size));
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) {
    const T normal = (x[z] - mean) * rstd;
    d_x[z] = rstd * (d_y[z] * gamma[z] - shift - normal * slope);
    d_gamma[z] += d_y[z] * normal;
  }
  if constexpr (kCentered) {
#pragma omp simd
    for (int64_t z = 0; z < size; ++z) d_beta[z] += d_y[z];
  }
}

template <class T, bool kCentered>
LoopFn bind_grad_row_norm(const Rows& rows) {
  const int64_t ranges = ranges_of(rows.count);
  return [=](auto in, auto out, void* scratch) {
    const T *x = static_cast<const T*>(in[0]), *gamma = static_cast<const T*>(in[1]);
    const T* means = kCentered ? static_cast<const T*>(in[2]) : nullptr;
    const T *rstds = static_cast<const T*>(in[kCentered ? 3 : 2]), *d_y = static_cast<const T*>(in[kCentered ? 4 : 3]);
    T* d_x = static_cast<T*>(out[0]);
    T* sums = static_cast<T*>(scratch);  // d_gamma and d_beta per range
#pragma omp parallel for if (rows.count * rows.size > kSerialElements)
    for (int64_t range = 0; range < ranges; ++range) {
      T* own = sums + 2 * rows.size * range;
      std::fill_n(own, 2 * rows.size, T{});
      const int64_t end = range_begin(rows.count, ranges, range + 1);
      for (int64_t row = range_begin(rows.count, ranges, range); row < end; ++row) {
        const int64_t at = row * rows.size;
        differentiate_row<T, kCentered>(rows.size, x + at, gamma, kCentered ? means[row] : T{}, rstds[row], d_y + at,
                                        d_x + at, own, own + rows.size);
      }
    }
    for (int64_t z = 0; z < rows.size; ++z) {
      T d_gamma = 0, d_beta = 0;
      for (int64_t range = 0; range < ranges; ++range) {
        d_gamma += sums[2 * rows.size * range + z];
        d_beta += sums[2 * rows.size * range + rows.size + z];
      }
      static_cast<T*>(out[1])[z] = d_gamma;
      if (kCentered) static_cast<T*>(out[2])[z] = d_beta;
    }
  };
}

bool is_grad(const KernelQuery& query) { return query.op.ends_with("_grad"); }

template <class T, bool kCentered>
LoopFn bind_row_norm(const KernelQuery& query) {
  const Rows rows = rows_of(query.inputs[0].shape);
  if (is_grad(query)) return bind_grad_row_norm<T, kCentered>(rows);
  return bind_norm_row_norm<T, kCentered>(rows, query.attrs.as<RowNormAttrs>().epsilon);
}

int64_t scratch_bytes_row_norm(const KernelQuery& query) {
  const Rows rows = rows_of(query.inputs[0].shape);
  return 2 * rows.size * ranges_of(rows.count) * static_cast<int64_t>(size_of(query.inputs[0].dtype));
}

KernelChoice propose_row_norm(const KernelQuery& query) {
  KernelChoice choice = propose_dense(kRowNorm, query);
  if (!choice.accepted()) return choice;
  if (query.inputs[0].elements() == 0) return refuse("empty");
  if (is_grad(query)) choice.scratch_bytes = scratch_bytes_row_norm(query);
  return choice;
}

}  // namespace

std::vector<KernelDef> row_norm_kernels() {
  KernelDef def{.name = kRowNorm,
                .ops = {"layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad"},
                .propose = propose_row_norm};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    PARTITA_CHECK(!is_grad(query) || scratch_bytes_row_norm(query) <= choice.scratch_bytes,
                  "{} bytes of scratch, {} asked for", scratch_bytes_row_norm(query), choice.scratch_bytes);
    const bool centered = query.op.starts_with("layer");
    LoopFn fn;
    for_loop_type(query.inputs[0].dtype, [&](auto zero) {
      using T = decltype(zero);
      fn = centered ? bind_row_norm<T, true>(query) : bind_row_norm<T, false>(query);
    });
    return make_loop(std::move(fn));
  };
  return {def};
}

}  // namespace partita
