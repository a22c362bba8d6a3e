// Batch normalisation and its parts. One thread computes a tile of channels, through all groups and rows, so the bits
// do not depend on the number of threads. Sums are in f64: the gradient of a layer below sums what remains after
// subtracting the mean, for which f32 sums are not accurate enough.

#include "ir/ops/norm/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/halves.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kBatchNorm = "loops.batch_norm";
constexpr int64_t kMaxChannels = 64;  // per tile

/// Arrangement of channels: each in its own planes, 8 or 16 adjacent in blocks, or all adjacent in rows ([n, c], [n, h,
/// w, c]).
enum Arrangement : int64_t { planes = 1, blocks_of_8 = 8, blocks_of_16 = 16, rows = 0 };

/// Channels [begin, end) of one group, and their addresses: element `lane` of position i of member m is at first + m *
/// member_stride + i * position_stride + lane.
struct Tile {
  int64_t begin, end, first;
  int64_t statistics;  // index of the first channel in [groups, channels]
  int64_t members, member_stride, positions, position_stride;
  int64_t size() const { return end - begin; }
};

template <int64_t kArrangement>
Tile tile_of(const NormSizes& sizes, int64_t group, int64_t begin) {
  constexpr int64_t kStep = kArrangement == rows ? kMaxChannels : kArrangement;
  Tile tile{.begin = begin, .end = std::min(sizes.channels, begin + kStep)};
  tile.statistics = group * sizes.channels + begin;
  if (kArrangement == rows) {
    tile.members = 1;
    tile.positions = sizes.count();
    tile.position_stride = sizes.channels;
    tile.first = group * sizes.count() * sizes.channels + begin;
  } else {
    const int64_t blocks = (sizes.channels + kStep - 1) / kStep;
    tile.members = sizes.members;
    tile.positions = sizes.plane;
    tile.position_stride = kStep;
    tile.member_stride = blocks * sizes.plane * kStep;
    tile.first = (group * sizes.members * blocks + begin / kStep) * sizes.plane * kStep;
  }
  return tile;
}

/// Elements of a tile at one position, padding included.
template <int64_t kArrangement>
int64_t lanes_in(const Tile& tile) {
  return kArrangement == rows ? tile.size() : kArrangement;
}

/// Calls fn(first element, positions) for the runs of a tile in order: adjacent positions, at most kHalfBlock elements.
template <int64_t kArrangement, class Fn>
void for_runs(const Tile& tile, const Fn& fn) {
  static_assert(kMaxChannels <= kHalfBlock);
  const int64_t lanes = lanes_in<kArrangement>(tile);
  const int64_t step = tile.position_stride == lanes ? kHalfBlock / lanes : 1;
  for (int64_t member = 0; member < tile.members; ++member) {
    const int64_t first = tile.first + member * tile.member_stride;
    for (int64_t i = 0; i < tile.positions; i += step) {
      fn(first + i * tile.position_stride, std::min(step, tile.positions - i));
    }
  }
}

/// Calls fn(lane, element of the run) for all elements of a run.
template <int64_t kArrangement, class Fn>
void map_run(int64_t positions, int64_t lanes, const Fn& fn) {
  if constexpr (kArrangement == planes) {
#pragma omp simd
    for (int64_t i = 0; i < positions; ++i) fn(0, i);
  } else {
    const int64_t width = kArrangement == rows ? lanes : kArrangement;
    for (int64_t i = 0; i < positions; ++i) {
#pragma omp simd
      for (int64_t lane = 0; lane < width; ++lane) fn(lane, i * width + lane);
    }
  }
}

struct Sums {
  double a[kMaxChannels], b[kMaxChannels];
};

/// Adds to the sums a and b of each lane the first and the second number that term(lane, element of the run) returns,
/// over the elements of the lane in the run.
template <int64_t kArrangement, class Term>
void add_run(int64_t positions, int64_t lanes, Sums& sums, const Term& term) {
  if constexpr (kArrangement == planes) {
    double a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
    for (int64_t i = 0; i < positions; ++i) {
      const auto [first, second] = term(0, i);
      a += first;
      b += second;
    }
    sums.a[0] += a;
    sums.b[0] += b;
  } else if constexpr (kArrangement != rows) {
    double a[kArrangement], b[kArrangement];  // in registers
    std::copy_n(sums.a, kArrangement, a);
    std::copy_n(sums.b, kArrangement, b);
    for (int64_t i = 0; i < positions; ++i) {
#pragma omp simd
      for (int64_t lane = 0; lane < kArrangement; ++lane) {
        const auto [first, second] = term(lane, i * kArrangement + lane);
        a[lane] += first;
        b[lane] += second;
      }
    }
    std::copy_n(a, kArrangement, sums.a);
    std::copy_n(b, kArrangement, sums.b);
  } else {
    for (int64_t i = 0; i < positions; ++i) {
#pragma omp simd
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const auto [first, second] = term(lane, i * lanes + lane);
        sums.a[lane] += first;
        sums.b[lane] += second;
      }
    }
  }
}

/// Terms of the two sums.
struct BatchNormTerms {
  double first, second;
};

/// One number per lane, 0 beyond the channels, so that padding becomes 0.
template <class T>
struct PerLane {
  T at[kMaxChannels] = {};
  template <class Fn>
  PerLane(const Tile& tile, const Fn& fn) {
    for (int64_t lane = 0; lane < tile.size(); ++lane) at[lane] = static_cast<T>(fn(lane));
  }
  T operator[](int64_t lane) const { return at[lane]; }
};

/// The element types that may have 16 bits: of x, of d_y, and of y or d_x.
struct NormTypes {
  DType x, d_y, result;
};

/// The loops over one arrangement. All pointers are to whole tensors; statistics are [groups, channels].
template <class T, int64_t kArrangement>
struct Norm {
  NormSizes sizes;
  NormTypes types;

  /// Calls fn(tile) for all tiles in parallel; one thread handles all groups of the same channels, in order.
  template <class Fn>
  void for_tiles(const Fn& fn) const {
    constexpr int64_t kStep = kArrangement == rows ? kMaxChannels : kArrangement;
    const int64_t tiles = (sizes.channels + kStep - 1) / kStep;
#pragma omp parallel for if (sizes.groups * sizes.count() * sizes.channels > kSerialElements)
    for (int64_t i = 0; i < tiles; ++i) {
      for (int64_t group = 0; group < sizes.groups; ++group) fn(tile_of<kArrangement>(sizes, group, i * kStep));
    }
  }

  /// Computes mean and rstd, 1 / sqrt(variance + epsilon), of a tile's channels, in one pass over the differences from
  /// the first element. If the first element of a channel is far from its mean (`is_far`), makes a second pass over the
  /// differences from the means of the first pass. Without elements mean and variance are 0.
  void find_statistics(const Tile& tile, double epsilon, const LoopOperand<T>& x, T* mean, T* rstd) const {
    if (sizes.count() == 0) {
      std::fill_n(mean + tile.statistics, tile.size(), T{});
      std::fill_n(rstd + tile.statistics, tile.size(), static_cast<T>(1 / std::sqrt(epsilon)));
      return;
    }
    T room[kMaxChannels];
    const T* first = x.read(tile.first, tile.size(), room);
    PerLane<double> near(tile, [&](int64_t lane) { return first[lane]; });
    Sums sums = deviations(tile, x, near);
    const auto moments = [&](int64_t lane) {
      return moments_near(near[lane], sums.a[lane], sums.b[lane], sizes.count());
    };
    bool far = false;
    for (int64_t lane = 0; lane < tile.size(); ++lane) {
      far = far || is_far(sums.a[lane] / static_cast<double>(sizes.count()), moments(lane).variance);
    }
    if (far) {
      near = PerLane<double>(tile, [&](int64_t lane) { return moments(lane).mean; });
      sums = deviations(tile, x, near);
    }
    for (int64_t lane = 0; lane < tile.size(); ++lane) {
      mean[tile.statistics + lane] = static_cast<T>(moments(lane).mean);
      rstd[tile.statistics + lane] = static_cast<T>(1 / std::sqrt(moments(lane).variance + epsilon));
    }
  }

  /// Computes y = (x - mean) * rstd * gamma + beta of a tile.
  void apply(const Tile& tile, const LoopOperand<T>& x, const T* gamma, const T* beta, const T* mean,
             const PerLane<T>& rstd, const LoopResult<T>& y) const {
    const PerLane<T> scale(tile, [&](int64_t c) { return rstd[c] * gamma[tile.begin + c]; });
    const PerLane<T> middle(tile, [&](int64_t c) { return mean[tile.statistics + c]; });
    const PerLane<T> shift(tile, [&](int64_t c) { return beta[tile.begin + c]; });
    const int64_t lanes = lanes_in<kArrangement>(tile);
    alignas(64) T rooms[2][kHalfBlock];
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, rooms[0]);
      T* to = y.place(at, rooms[1]);
      map_run<kArrangement>(positions, lanes, [&](int64_t lane, int64_t i) {
        to[i] = (from[i] - middle[lane]) * scale[lane] + shift[lane];
      });
      y.store(at, positions * lanes, rooms[1]);
    });
  }

  /// Returns, for each channel of the tile, the sum of x - near and the sum of its square over the channel's elements.
  Sums deviations(const Tile& tile, const LoopOperand<T>& x, const PerLane<double>& near) const {
    Sums sums{};
    const int64_t lanes = lanes_in<kArrangement>(tile);
    alignas(64) T room[kHalfBlock];
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, room);
      add_run<kArrangement>(positions, lanes, sums, [&](int64_t lane, int64_t i) {
        const double difference = static_cast<double>(from[i]) - near[lane];
        return BatchNormTerms{difference, difference * difference};
      });
    });
    return sums;
  }

  /// Returns, for each channel of the tile, the sum of d_y and the sum of d_y * (x - mean) * rstd over its elements.
  Sums grad_sums(const Tile& tile, const LoopOperand<T>& x, const T* mean, const T* rstd,
                 const LoopOperand<T>& d_y) const {
    const PerLane<double> middle(tile, [&](int64_t c) { return mean[tile.statistics + c]; });
    Sums sums{};
    const int64_t lanes = lanes_in<kArrangement>(tile);
    alignas(64) T rooms[2][kHalfBlock];
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, rooms[0]);
      const T* gradients = d_y.read(at, positions * lanes, rooms[1]);
      add_run<kArrangement>(positions, lanes, sums, [&](int64_t lane, int64_t i) {
        const auto gradient = static_cast<double>(gradients[i]);
        return BatchNormTerms{gradient, gradient * (static_cast<double>(from[i]) - middle[lane])};
      });
    });
    for (int64_t c = 0; c < tile.size(); ++c) sums.b[c] *= static_cast<double>(rstd[tile.statistics + c]);
    return sums;
  }

  /// Computes d_x = gamma * rstd * (d_y - sum / count - (x - mean) * rstd * projection / count) of a tile. `sum` and
  /// `projection` have the two sums of `grad_sums` for each of its channels, over `count` elements each.
  void grad_apply(const Tile& tile, int64_t count, const LoopOperand<T>& x, const T* gamma, const T* mean,
                  const T* rstd, const LoopOperand<T>& d_y, const double* sum, const double* projection,
                  const LoopResult<T>& d_x) const {
    const auto n = static_cast<double>(count);
    const PerLane<T> middle(tile, [&](int64_t c) { return mean[tile.statistics + c]; });
    const PerLane<T> scale(tile, [&](int64_t c) { return gamma[tile.begin + c] * rstd[tile.statistics + c]; });
    const PerLane<T> shift(tile, [&](int64_t c) { return sum[c] / n; });
    const PerLane<T> slope(
        tile, [&](int64_t c) { return projection[c] / n * static_cast<double>(rstd[tile.statistics + c]); });
    const int64_t lanes = lanes_in<kArrangement>(tile);
    alignas(64) T rooms[3][kHalfBlock];
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, rooms[0]);
      const T* gradients = d_y.read(at, positions * lanes, rooms[1]);
      T* to = d_x.place(at, rooms[2]);
      map_run<kArrangement>(positions, lanes, [&](int64_t lane, int64_t i) {
        to[i] = scale[lane] * (gradients[i] - shift[lane] - (from[i] - middle[lane]) * slope[lane]);
      });
      d_x.store(at, positions * lanes, rooms[2]);
    });
  }
};

/// Returns the numbers of a tile's channels among statistics, [groups, channels].
template <class T>
PerLane<T> per_lane(const Tile& tile, const T* statistics) {
  return PerLane<T>(tile, [=](int64_t lane) { return statistics[tile.statistics + lane]; });
}

template <class T>
const T* read(std::span<const void* const> inputs, size_t i) {
  return static_cast<const T*>(inputs[i]);
}
template <class T>
T* write(std::span<void* const> outputs, size_t i) {
  return static_cast<T*>(outputs[i]);
}

template <class T, int64_t kArrangement>
LoopFn bind_norm_batch_norm(const Norm<T, kArrangement>& norm, double epsilon) {
  return [=](auto in, auto out, void*) {
    const LoopOperand<T> x(in[0], norm.types.x);
    const LoopResult<T> y(out[0], norm.types.result);
    T *mean = write<T>(out, 1), *rstd = write<T>(out, 2);
    norm.for_tiles([&](const Tile& tile) {
      norm.find_statistics(tile, epsilon, x, mean, rstd);
      norm.apply(tile, x, read<T>(in, 1), read<T>(in, 2), mean, per_lane<T>(tile, rstd), y);
    });
  };
}

template <class T, int64_t kArrangement>
LoopFn bind_apply(const Norm<T, kArrangement>& norm) {
  return [=](auto in, auto out, void*) {
    const LoopOperand<T> x(in[0], norm.types.x);
    const LoopResult<T> y(out[0], norm.types.result);
    norm.for_tiles([&](const Tile& tile) {
      norm.apply(tile, x, read<T>(in, 1), read<T>(in, 2), read<T>(in, 3), per_lane<T>(tile, read<T>(in, 4)), y);
    });
  };
}

/// Binds a loop that takes the variances of the channels in place of rstd.
template <class T, int64_t kArrangement>
LoopFn bind_inference(const Norm<T, kArrangement>& norm, double epsilon) {
  return [=](auto in, auto out, void*) {
    const LoopOperand<T> x(in[0], norm.types.x);
    const LoopResult<T> y(out[0], norm.types.result);
    const T* variance = read<T>(in, 4);
    norm.for_tiles([&](const Tile& tile) {
      const PerLane<T> rstd(
          tile, [&](int64_t c) { return 1 / std::sqrt(static_cast<double>(variance[tile.begin + c]) + epsilon); });
      norm.apply(tile, x, read<T>(in, 1), read<T>(in, 2), read<T>(in, 3), rstd, y);
    });
  };
}

template <class T, int64_t kArrangement>
LoopFn bind_grad_batch_norm(const Norm<T, kArrangement>& norm) {
  return [=](auto in, auto out, void*) {
    const LoopOperand<T> x(in[0], norm.types.x), d_y(in[4], norm.types.d_y);
    const LoopResult<T> d_x(out[0], norm.types.result);
    const T *gamma = read<T>(in, 1), *mean = read<T>(in, 2), *rstd = read<T>(in, 3);
    T *d_gamma = write<T>(out, 1), *d_beta = write<T>(out, 2);
    std::fill_n(d_gamma, norm.sizes.channels, T{});
    std::fill_n(d_beta, norm.sizes.channels, T{});
    norm.for_tiles([&](const Tile& tile) {
      const Sums sums = norm.grad_sums(tile, x, mean, rstd, d_y);
      norm.grad_apply(tile, norm.sizes.count(), x, gamma, mean, rstd, d_y, sums.a, sums.b, d_x);
      for (int64_t c = 0; c < tile.size(); ++c) {
        d_gamma[tile.begin + c] += static_cast<T>(sums.b[c]);
        d_beta[tile.begin + c] += static_cast<T>(sums.a[c]);
      }
    });
  };
}

template <class T, int64_t kArrangement>
LoopFn bind_grad_apply(const Norm<T, kArrangement>& norm, int64_t count) {
  return [=](auto in, auto out, void*) {
    const LoopOperand<T> x(in[0], norm.types.x), d_y(in[4], norm.types.d_y);
    const LoopResult<T> d_x(out[0], norm.types.result);
    norm.for_tiles([&](const Tile& tile) {
      norm.grad_apply(tile, count, x, read<T>(in, 1), read<T>(in, 2), read<T>(in, 3), d_y,
                      read<double>(in, 5) + tile.statistics, read<double>(in, 6) + tile.statistics, d_x);
    });
  };
}

/// Binds a loop that stores the sums a and b of make_sums(tile, operands), as [groups, channels], in the first and the
/// second result; only a if there is one result.
template <class T, int64_t kArrangement, class MakeSums>
LoopFn bind_sums(const Norm<T, kArrangement>& norm, const MakeSums& make_sums) {
  return [=](auto in, auto out, void*) {
    norm.for_tiles([&](const Tile& tile) {
      const Sums sums = make_sums(tile, in);
      std::copy_n(sums.a, tile.size(), write<double>(out, 0) + tile.statistics);
      if (out.size() > 1) std::copy_n(sums.b, tile.size(), write<double>(out, 1) + tile.statistics);
    });
  };
}

template <class T, int64_t kArrangement>
LoopFn bind_moments_sum(const Norm<T, kArrangement>& norm) {
  return bind_sums(norm, [=](const Tile& tile, auto in) {
    const LoopOperand<T> x(in[0], norm.types.x);
    return norm.deviations(tile, x, PerLane<double>(tile, [](int64_t) { return 0; }));
  });
}

template <class T, int64_t kArrangement>
LoopFn bind_moments_deviations(const Norm<T, kArrangement>& norm) {
  return bind_sums(norm, [=](const Tile& tile, auto in) {
    return norm.deviations(tile, LoopOperand<T>(in[0], norm.types.x), per_lane<double>(tile, read<double>(in, 1)));
  });
}

template <class T, int64_t kArrangement>
LoopFn bind_grad_sums(const Norm<T, kArrangement>& norm) {
  return bind_sums(norm, [=](const Tile& tile, auto in) {
    const LoopOperand<T> x(in[0], norm.types.x), d_y(in[3], norm.types.d_y);
    return norm.grad_sums(tile, x, read<T>(in, 1), read<T>(in, 2), d_y);
  });
}

/// Index of the operand d_y of a gradient, 0 for other ops.
size_t gradient_of(const std::string& op) {
  return op == "batch_norm_grad" || op == "batch_norm_grad_apply" ? 4 : op == "batch_norm_grad_sums" ? 3 : 0;
}

/// Whether the first result has the shape of x.
bool maps(const std::string& op) { return !op.starts_with("moments") && op != "batch_norm_grad_sums"; }

/// x, d_y, y and d_x may have 16 bits. Parts of an op hand each other sums in f64.
HalfPlaces halves_of_batch_norm(const std::string& op) {
  HalfPlaces places{.operands = {0, gradient_of(op)}, .results = {}};
  if (maps(op)) {
    places.results = {0};
  } else {
    places.f64_results = {0, 1};
  }
  if (op == "moments_deviations") places.f64_operands = {1};
  if (op == "batch_norm_grad_apply") places.f64_operands = {5, 6};
  return places;
}

template <class T, int64_t kArrangement>
LoopFn bind_batch_norm(const KernelQuery& query) {
  const NormTypes types{query.inputs[0].dtype, query.inputs[gradient_of(query.op)].dtype, query.outputs[0].dtype};
  const auto norm = [&](int64_t groups) {
    return Norm<T, kArrangement>{norm_sizes(query.inputs[0].shape, groups), types};
  };
  const auto groups_of = [&](size_t statistics) { return query.inputs[statistics].shape[0]; };
  if (query.op == "batch_norm") {
    const auto& attrs = query.attrs.as<BatchNormAttrs>();
    return bind_norm_batch_norm(norm(attrs.groups), attrs.epsilon);
  }
  if (query.op == "batch_norm_apply") return bind_apply(norm(groups_of(3)));
  if (query.op == "batch_norm_inference") {
    return bind_inference(norm(1), query.attrs.as<BatchNormInferenceAttrs>().epsilon);
  }
  if (query.op == "batch_norm_grad") return bind_grad_batch_norm(norm(groups_of(2)));
  if (query.op == "batch_norm_grad_apply") {
    return bind_grad_apply(norm(groups_of(2)), query.attrs.as<BatchNormGradApplyAttrs>().count);
  }
  if (query.op == "moments_sum") return bind_moments_sum(norm(query.attrs.as<MomentsSumAttrs>().groups));
  if (query.op == "moments_deviations") return bind_moments_deviations(norm(groups_of(1)));
  return bind_grad_sums(norm(groups_of(1)));
}

/// Accepts f32 and f64, and 16 bits next to f32, refuses other types. x, d_y, y and d_x have one memory format: that of
/// the first of x and d_y with channels innermost, else plain.
KernelChoice propose_batch_norm(const KernelQuery& query) {
  const size_t gradient = gradient_of(query.op);
  std::vector<std::pair<int, int>> in_place;
  if (maps(query.op)) in_place.emplace_back(0, 0);
  if (maps(query.op) && gradient > 0) in_place.emplace_back(static_cast<int>(gradient), 0);
  KernelChoice choice = propose_dense(kBatchNorm, query, std::move(in_place), halves_of_batch_norm(query.op));
  if (!choice.accepted()) return choice;
  for (const size_t operand : {size_t{0}, gradient}) {
    const Type& type = query.inputs[operand];
    const MemoryFormat& given = query.input_formats[operand];
    if (lanes_of(type, given) == 0 && !channels_last(type, given)) continue;
    choice.inputs[0] = format_of_type(given, type, query.inputs[0]);
    choice.inputs[gradient] = format_of_type(given, type, query.inputs[gradient]);
    if (maps(query.op)) choice.outputs[0] = format_of_type(given, type, query.outputs[0]);
    break;
  }
  return choice;
}

std::unique_ptr<Kernel> make_batch_norm(const KernelQuery& query, const KernelChoice& choice) {
  const Type& x = query.inputs[0];
  const int64_t lanes = lanes_of(x, choice.inputs[0]);
  if (lanes == 16) return make_loop(bind_batch_norm<float, blocks_of_16>(query));
  if (lanes == 8) return make_loop(bind_batch_norm<float, blocks_of_8>(query));
  LoopFn loop;
  for_loop_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool side_by_side = x.rank() == 2 || channels_last(x, choice.inputs[0]);
    loop = side_by_side ? bind_batch_norm<T, rows>(query) : bind_batch_norm<T, planes>(query);
  });
  return make_loop(std::move(loop));
}

}  // namespace

std::vector<KernelDef> batch_norm_kernels() {
  return {{kBatchNorm,
           {"batch_norm", "batch_norm_apply", "batch_norm_inference", "batch_norm_grad", "batch_norm_grad_apply",
            "moments_sum", "moments_deviations", "batch_norm_grad_sums"},
           propose_batch_norm,
           make_batch_norm,
           /*mixes_halves=*/true}};
}

}  // namespace partita
