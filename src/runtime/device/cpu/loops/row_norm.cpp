// layer_norm, rms_norm and their gradients over dense rows. The contributions of ranges of rows to the gradients of
// gamma and beta are summed in order. Sums of rows are in f64 where they cancel.

#include "ir/ops/norm/row_norm.h"

#include <omp.h>

#include <cmath>

#include "ir/ops/norm/moments.h"
#include "runtime/device/cpu/loops/halves.h"
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

/// The element types that may have 16 bits: of x, of y or d_y, and of d_x.
struct RowNormTypes {
  DType x, y, d_x;
  bool has_halves() const { return is_half(x) || is_half(y) || is_half(d_x); }
};

constexpr int64_t kRooms = 3;  // rows that a thread widens or rounds at a time

/// Memory of the threads for rows of 16 bits.
template <class T>
class RowRooms {
 public:
  /// `scratch` has room for all threads of the team; it is null, and there are no rooms, without 16-bit types.
  RowRooms(void* scratch, int64_t size) : rooms_(static_cast<T*>(scratch)), size_(size) {}
  /// Returns room number `index` of the calling thread; null if there are no rooms.
  T* room(int64_t index) const {
    return rooms_ == nullptr ? nullptr : rooms_ + (omp_get_thread_num() * kRooms + index) * size_;
  }

 private:
  T* rooms_;
  int64_t size_;
};

/// Binds a loop that computes y = (x - mean) * rstd * gamma + beta and stores mean and rstd of each row; rms_norm has
/// no mean and no beta.
template <class T, bool kCentered>
LoopFn bind_norm_row_norm(const Rows& rows, const RowNormTypes& types, int threads, double epsilon) {
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], types.x);
    const LoopResult<T> y(out[0], types.y);
    const T* gamma = static_cast<const T*>(in[1]);
    const T* beta = kCentered ? static_cast<const T*>(in[2]) : nullptr;
    T* means = kCentered ? static_cast<T*>(out[1]) : nullptr;
    T* rstds = static_cast<T*>(out[kCentered ? 2 : 1]);
    const RowRooms<T> rooms(types.has_halves() ? scratch : nullptr, rows.size);
#pragma omp parallel for num_threads(threads) if (rows.count * rows.size > kSerialElements)
    for (int64_t row = 0; row < rows.count; ++row) {
      const T* from = x.read(row * rows.size, rows.size, rooms.room(0));
      T* to = y.place(row * rows.size, rooms.room(1));
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
      y.store(row * rows.size, rows.size, to);
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
LoopFn bind_grad_row_norm(const Rows& rows, const RowNormTypes& types, int threads) {
  const int64_t ranges = ranges_of(rows.count);
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], types.x), d_y(in[kCentered ? 4 : 3], types.y);
    const LoopResult<T> d_x(out[0], types.d_x);
    const T* gamma = static_cast<const T*>(in[1]);
    const T* means = kCentered ? static_cast<const T*>(in[2]) : nullptr;
    const T* rstds = static_cast<const T*>(in[kCentered ? 3 : 2]);
    T* sums = static_cast<T*>(scratch);  // d_gamma and d_beta per range
    const RowRooms<T> rooms(types.has_halves() ? sums + 2 * rows.size * ranges : nullptr, rows.size);
#pragma omp parallel for num_threads(threads) if (rows.count * rows.size > kSerialElements)
    for (int64_t range = 0; range < ranges; ++range) {
      T* own = sums + 2 * rows.size * range;
      std::fill_n(own, 2 * rows.size, T{});
      const int64_t end = range_begin(rows.count, ranges, range + 1);
      for (int64_t row = range_begin(rows.count, ranges, range); row < end; ++row) {
        const int64_t at = row * rows.size;
        T* to = d_x.place(at, rooms.room(2));
        differentiate_row<T, kCentered>(rows.size, x.read(at, rows.size, rooms.room(0)), gamma,
                                        kCentered ? means[row] : T{}, rstds[row],
                                        d_y.read(at, rows.size, rooms.room(1)), to, own, own + rows.size);
        d_x.store(at, rows.size, to);
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

RowNormTypes types_of(const KernelQuery& query) {
  const DType x = query.inputs[0].dtype, out = query.outputs[0].dtype;
  return is_grad(query) ? RowNormTypes{x, query.inputs.back().dtype, out} : RowNormTypes{x, out, x};
}

bool is_centered(const KernelQuery& query) { return query.op.starts_with("layer"); }

/// Bytes of the sums of ranges, and of the rooms of one thread.
int64_t sums_bytes(const KernelQuery& query) {
  const Rows rows = rows_of(query.inputs[0].shape);
  if (!is_grad(query)) return 0;
  return 2 * rows.size * ranges_of(rows.count) * static_cast<int64_t>(size_of(query.inputs[1].dtype));
}
int64_t row_rooms_bytes(const KernelQuery& query) {
  if (!types_of(query).has_halves()) return 0;
  return kRooms * rows_of(query.inputs[0].shape).size * static_cast<int64_t>(sizeof(float));
}

template <class T, bool kCentered>
LoopFn bind_row_norm(const KernelQuery& query, int threads) {
  const Rows rows = rows_of(query.inputs[0].shape);
  if (is_grad(query)) return bind_grad_row_norm<T, kCentered>(rows, types_of(query), threads);
  return bind_norm_row_norm<T, kCentered>(rows, types_of(query), threads, query.attrs.as<RowNormAttrs>().epsilon);
}

KernelChoice propose_row_norm(const KernelQuery& query) {
  const size_t d_y = is_grad(query) ? query.inputs.size() - 1 : 0;
  KernelChoice choice = propose_dense(kRowNorm, query, {}, {.operands = {0, d_y}, .results = {0}});
  if (!choice.accepted()) return choice;
  if (query.inputs[0].elements() == 0) return refuse("empty");
  choice.scratch_bytes = sums_bytes(query) + omp_get_max_threads() * row_rooms_bytes(query);
  return choice;
}

}  // namespace

std::vector<KernelDef> row_norm_kernels() {
  KernelDef def{.name = kRowNorm,
                .ops = {"layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad"},
                .propose = propose_row_norm};
  def.mixes_halves = true;
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const int64_t sums = sums_bytes(query), rooms = row_rooms_bytes(query);
    PARTITA_CHECK(sums <= choice.scratch_bytes, "{} bytes of scratch, {} asked for", sums, choice.scratch_bytes);
    const int threads = rooms == 0 ? omp_get_max_threads() : threads_within(rooms, choice.scratch_bytes - sums);
    LoopFn fn;
    for_loop_type(query.inputs[1].dtype, [&](auto zero) {
      using T = decltype(zero);
      fn = is_centered(query) ? bind_row_norm<T, true>(query, threads) : bind_row_norm<T, false>(query, threads);
    });
    return make_loop(std::move(fn));
  };
  return {def};
}

}  // namespace partita
