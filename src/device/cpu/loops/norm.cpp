// Batch normalisation and its parts on dense tensors. A tile of channels is one thread's work, through
// all groups and rows, so the bits do not depend on the number of threads. Sums are in f64.

#include "ops/norm.h"

#include <algorithm>
#include <cmath>

#include "device/cpu/loops/loop_support.h"
#include "ops/batch_norm.h"

namespace partita {
namespace {

constexpr auto kName = "loops.norm";
constexpr int64_t kTile = 16;  // channels of a tile of [n, c], where they are what lies side by side

/// Channels [begin, end) of one group.
struct Tile {
  int64_t group, begin, end;
  int64_t size() const { return end - begin; }
};

/// fn(begin, end) for tiles of channels, in parallel.
template <class Fn>
void for_channels(const NormSizes& sizes, const Fn& fn) {
  const int64_t step = sizes.plane == 1 ? kTile : 1, tiles = (sizes.channels + step - 1) / step;
  const bool parallel = sizes.groups * sizes.count() * sizes.channels > kSerialElements;
#pragma omp parallel for if (parallel)
  for (int64_t tile = 0; tile < tiles; ++tile) fn(tile * step, std::min(sizes.channels, (tile + 1) * step));
}

/// fn(channel in the tile)(element) for all elements of a tile: what a channel fixes is found once.
template <class Fn>
void map_tile(const NormSizes& sizes, const Tile& tile, const Fn& fn) {
  for (int64_t member = 0; member < sizes.members; ++member) {
    const int64_t first = (tile.group * sizes.members + member) * sizes.channels + tile.begin;
    if (sizes.plane == 1) {
#pragma omp simd
      for (int64_t c = 0; c < tile.size(); ++c) fn(c)(first + c);
      continue;
    }
    for (int64_t c = 0; c < tile.size(); ++c) {
      const int64_t at = (first + c) * sizes.plane;
      const auto of_element = fn(c);
#pragma omp simd
      for (int64_t i = 0; i < sizes.plane; ++i) of_element(at + i);
    }
  }
}

/// a[c] = sum of term_a(c)(element) and b[c] = sum of term_b(c)(element) over a tile.
template <class TermA, class TermB>
void sum_tile(const NormSizes& sizes, const Tile& tile, const TermA& term_a, const TermB& term_b, double* a,
              double* b) {
  std::fill_n(a, tile.size(), 0.0);
  std::fill_n(b, tile.size(), 0.0);
  for (int64_t member = 0; member < sizes.members; ++member) {
    const int64_t first = (tile.group * sizes.members + member) * sizes.channels + tile.begin;
    if (sizes.plane == 1) {
#pragma omp simd
      for (int64_t c = 0; c < tile.size(); ++c) {
        a[c] += term_a(c)(first + c);
        b[c] += term_b(c)(first + c);
      }
      continue;
    }
    for (int64_t c = 0; c < tile.size(); ++c) {
      const int64_t at = (first + c) * sizes.plane;
      const auto first_term = term_a(c);
      const auto second_term = term_b(c);
      double sum_a = 0, sum_b = 0;
#pragma omp simd reduction(+ : sum_a, sum_b)
      for (int64_t i = 0; i < sizes.plane; ++i) {
        sum_a += first_term(at + i);
        sum_b += second_term(at + i);
      }
      a[c] += sum_a;
      b[c] += sum_b;
    }
  }
}

/// The sums of d_y and of d_y * (x - mean) * rstd; mean and rstd are those of the tile.
template <class T>
void grad_sums(const NormSizes& sizes, const Tile& tile, const T* x, const T* mean, const T* rstd, const T* d_y,
               double* sum, double* projection) {
  const auto plain = [=](int64_t) { return [=](int64_t at) { return static_cast<double>(d_y[at]); }; };
  const auto projected = [=](int64_t c) {
    return [=, middle = static_cast<double>(mean[c])](int64_t at) {
      return static_cast<double>(d_y[at]) * (static_cast<double>(x[at]) - middle);
    };
  };
  sum_tile(sizes, tile, plain, projected, sum, projection);
  for (int64_t c = 0; c < tile.size(); ++c) projection[c] *= static_cast<double>(rstd[c]);
}

/// d_x = gamma * rstd * (d_y - sum / count - (x - mean) * rstd * projection / count).
template <class T>
void grad_apply(const NormSizes& sizes, const Tile& tile, int64_t count, const T* x, const T* gamma, const T* mean,
                const T* rstd, const T* d_y, const double* sum, const double* projection, T* d_x) {
  T scale[kTile], shift[kTile], slope[kTile];
  for (int64_t c = 0; c < tile.size(); ++c) {
    scale[c] = gamma[c] * rstd[c];
    shift[c] = static_cast<T>(sum[c] / static_cast<double>(count));
    slope[c] = static_cast<T>(projection[c] / static_cast<double>(count) * static_cast<double>(rstd[c]));
  }
  map_tile(sizes, tile, [&](int64_t c) {
    return [=, scale = scale[c], shift = shift[c], slope = slope[c], middle = mean[c]](int64_t at) {
      d_x[at] = scale * (d_y[at] - shift - (x[at] - middle) * slope);
    };
  });
}

template <class T>
void apply(const NormSizes& sizes, const Tile& tile, const T* x, const T* gamma, const T* beta, const T* mean,
           const T* rstd, T* y) {
  T scale[kTile];
  for (int64_t c = 0; c < tile.size(); ++c) scale[c] = rstd[c] * gamma[c];
  map_tile(sizes, tile, [&](int64_t c) {
    return [=, scale = scale[c], shift = beta[c], middle = mean[c]](int64_t at) {
      y[at] = (x[at] - middle) * scale + shift;
    };
  });
}

/// Two passes: the second sums squares of differences, which do not cancel.
template <class T>
void find_statistics(const NormSizes& sizes, const Tile& tile, double epsilon, const T* x, T* mean, T* rstd) {
  double sum[kTile], rest[kTile], middle[kTile];
  const auto zero = [](int64_t) { return [](int64_t) { return 0.0; }; };
  const auto value = [=](int64_t) { return [=](int64_t at) { return static_cast<double>(x[at]); }; };
  const double count = static_cast<double>(std::max<int64_t>(1, sizes.count()));
  sum_tile(sizes, tile, value, zero, sum, rest);
  for (int64_t c = 0; c < tile.size(); ++c) middle[c] = sum[c] / count;
  const auto square = [&](int64_t c) {
    return [=, center = middle[c]](int64_t at) {
      const double difference = static_cast<double>(x[at]) - center;
      return difference * difference;
    };
  };
  sum_tile(sizes, tile, square, zero, sum, rest);
  for (int64_t c = 0; c < tile.size(); ++c) {
    mean[c] = static_cast<T>(middle[c]);
    rstd[c] = static_cast<T>(1 / std::sqrt(sum[c] / count + epsilon));
  }
}

/// Calls fn(tile, index of its first statistic) for all groups of some channels.
template <class Fn>
void for_groups(const NormSizes& sizes, int64_t begin, int64_t end, const Fn& fn) {
  for (int64_t group = 0; group < sizes.groups; ++group) fn(Tile{group, begin, end}, group * sizes.channels + begin);
}

template <class T>
LoopFn bind_norm(const NormSizes& sizes, double epsilon) {
  return [=](auto in, auto out, void*) {
    const T *x = static_cast<const T*>(in[0]), *gamma = static_cast<const T*>(in[1]);
    const T* beta = static_cast<const T*>(in[2]);
    T *y = static_cast<T*>(out[0]), *mean = static_cast<T*>(out[1]), *rstd = static_cast<T*>(out[2]);
    for_channels(sizes, [&](int64_t begin, int64_t end) {
      for_groups(sizes, begin, end, [&](const Tile& tile, int64_t k) {
        find_statistics(sizes, tile, epsilon, x, mean + k, rstd + k);
        apply(sizes, tile, x, gamma + begin, beta + begin, mean + k, rstd + k, y);
      });
    });
  };
}

template <class T>
LoopFn bind_apply(const NormSizes& sizes) {
  return [=](auto in, auto out, void*) {
    const T *x = static_cast<const T*>(in[0]), *gamma = static_cast<const T*>(in[1]);
    const T *beta = static_cast<const T*>(in[2]), *mean = static_cast<const T*>(in[3]);
    const T* rstd = static_cast<const T*>(in[4]);
    T* y = static_cast<T*>(out[0]);
    for_channels(sizes, [&](int64_t begin, int64_t end) {
      for_groups(sizes, begin, end, [&](const Tile& tile, int64_t k) {
        apply(sizes, tile, x, gamma + begin, beta + begin, mean + k, rstd + k, y);
      });
    });
  };
}

template <class T>
LoopFn bind_grad(const NormSizes& sizes) {
  return [=](auto in, auto out, void*) {
    const T *x = static_cast<const T*>(in[0]), *gamma = static_cast<const T*>(in[1]);
    const T *mean = static_cast<const T*>(in[2]), *rstd = static_cast<const T*>(in[3]);
    const T* d_y = static_cast<const T*>(in[4]);
    T *d_x = static_cast<T*>(out[0]), *d_gamma = static_cast<T*>(out[1]), *d_beta = static_cast<T*>(out[2]);
    for_channels(sizes, [&](int64_t begin, int64_t end) {
      double sum[kTile], projection[kTile], sums[kTile] = {}, projections[kTile] = {};
      for_groups(sizes, begin, end, [&](const Tile& tile, int64_t k) {
        grad_sums(sizes, tile, x, mean + k, rstd + k, d_y, sum, projection);
        grad_apply(sizes, tile, sizes.count(), x, gamma + begin, mean + k, rstd + k, d_y, sum, projection, d_x);
        for (int64_t c = 0; c < tile.size(); ++c) {
          sums[c] += sum[c];
          projections[c] += projection[c];
        }
      });
      for (int64_t c = 0; c < end - begin; ++c) {
        d_gamma[begin + c] = static_cast<T>(projections[c]);
        d_beta[begin + c] = static_cast<T>(sums[c]);
      }
    });
  };
}

template <class T>
LoopFn bind_grad_apply(const NormSizes& sizes, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T *x = static_cast<const T*>(in[0]), *gamma = static_cast<const T*>(in[1]);
    const T *mean = static_cast<const T*>(in[2]), *rstd = static_cast<const T*>(in[3]);
    const T* d_y = static_cast<const T*>(in[4]);
    const double *sum = static_cast<const double*>(in[5]), *projection = static_cast<const double*>(in[6]);
    T* d_x = static_cast<T*>(out[0]);
    for_channels(sizes, [&](int64_t begin, int64_t end) {
      for_groups(sizes, begin, end, [&](const Tile& tile, int64_t k) {
        grad_apply(sizes, tile, count, x, gamma + begin, mean + k, rstd + k, d_y, sum + k, projection + k, d_x);
      });
    });
  };
}

template <class T>
LoopFn bind_sums(const NormSizes& sizes, bool moments) {
  return [=](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    double *first = static_cast<double*>(out[0]), *second = static_cast<double*>(out[1]);
    for_channels(sizes, [&](int64_t begin, int64_t end) {
      for_groups(sizes, begin, end, [&](const Tile& tile, int64_t k) {
        if (!moments) {
          grad_sums(sizes, tile, x, static_cast<const T*>(in[1]) + k, static_cast<const T*>(in[2]) + k,
                    static_cast<const T*>(in[3]), first + k, second + k);
          return;
        }
        const auto value = [=](int64_t) { return [=](int64_t at) { return static_cast<double>(x[at]); }; };
        const auto square = [=](int64_t) {
          return [=](int64_t at) { return static_cast<double>(x[at]) * static_cast<double>(x[at]); };
        };
        sum_tile(sizes, tile, value, square, first + k, second + k);
      });
    });
  };
}

template <class T>
LoopFn bind(const KernelQuery& query) {
  const auto sizes = [&](int64_t groups) { return norm_sizes(query.inputs[0].shape, groups); };
  const auto groups_of = [&](size_t statistics) { return query.inputs[statistics].shape[0]; };
  if (query.op == "batch_norm") {
    const auto& attrs = query.attrs.as<BatchNormAttrs>();
    return bind_norm<T>(sizes(attrs.groups), attrs.epsilon);
  }
  if (query.op == "batch_norm_apply") return bind_apply<T>(sizes(groups_of(3)));
  if (query.op == "batch_norm_grad") return bind_grad<T>(sizes(groups_of(2)));
  if (query.op == "batch_norm_grad_apply") {
    return bind_grad_apply<T>(sizes(groups_of(2)), query.attrs.as<BatchNormGradApplyAttrs>().count);
  }
  if (query.op == "moments") return bind_sums<T>(sizes(query.attrs.as<MomentsAttrs>().groups), true);
  return bind_sums<T>(sizes(groups_of(1)), false);
}

}  // namespace

KernelDef norm_kernel() {
  KernelDef def{.name = kName,
                .ops = {"batch_norm", "batch_norm_apply", "batch_norm_grad", "batch_norm_grad_apply", "moments",
                        "batch_norm_grad_sums"}};
  def.propose = [](const KernelQuery& query) {
    std::vector<std::pair<int, int>> in_place;
    if (query.op == "batch_norm" || query.op == "batch_norm_apply") in_place = {{0, 0}};
    if (query.op == "batch_norm_grad" || query.op == "batch_norm_grad_apply") in_place = {{0, 0}, {4, 0}};
    return propose_dense(kName, query, std::move(in_place));
  };
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    return make_loop(query.inputs[0].dtype == DType::f64 ? bind<double>(query) : bind<float>(query));
  };
  return def;
}

}  // namespace partita
