// Batch normalisation and its parts. One thread computes a tile of channels, through all groups and rows, so the bits
// do not depend on the number of threads. Sums are in f64: the gradient of a layer below sums what remains after
// subtracting the mean, for which f32 sums are not accurate enough.

#include "ir/ops/norm/batch_norm.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/halves.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kBatchNorm = "loops.batch_norm";
constexpr int64_t kMaxChannels = 64;  // per tile
constexpr int64_t kTileRooms = 3;     // for x, for d_y, and for y or d_x

/// Arrangement of channels: each in its own planes, 8 or 16 adjacent in blocks, or all adjacent in rows ([n, c], [n, h,
/// w, c]).
enum Arrangement : int64_t { planes = 1, blocks_of_8 = 8, blocks_of_16 = 16, rows = 0 };

/// Number of elements of a room: a whole plane, so that its sum adds in the same order as in f32, or a block.
int64_t room_size(int64_t arrangement, const NormSizes& sizes) {
  static_assert(kMaxChannels <= kHalfBlock);
  return arrangement == planes ? sizes.plane : kHalfBlock;
}

/// Channels [begin, end) of one group, and their addresses: element `lane` of position i of member m is at first + m *
/// member_stride + i * position_stride + lane.
struct Tile {
  int64_t begin, end, first;
  int64_t statistics;  // index of the first channel in [groups, channels]
  int64_t members, member_stride, positions, position_stride;
  void* rooms;  // where the thread widens and rounds, null if nothing has 16 bits
  int64_t room_size;
  int64_t size() const { return end - begin; }
  /// Returns room number `index`, below kTileRooms, which has room for a run; null if the tile has no rooms.
  template <class T>
  T* room(int64_t index) const {
    return rooms == nullptr ? nullptr : static_cast<T*>(rooms) + index * room_size;
  }
};

template <int64_t kArrangement>
Tile tile_of(const NormSizes& sizes, int64_t group, int64_t begin) {
  constexpr int64_t kStep = kArrangement == rows ? kMaxChannels : kArrangement;
  Tile tile{.begin = begin, .end = std::min(sizes.channels, begin + kStep)};
  tile.room_size = room_size(kArrangement, sizes);
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

/// Calls fn(first element, positions) for the runs of a tile in order. A run has all positions of a member or, if there
/// are rooms, adjacent ones that fit a room.
template <int64_t kArrangement, class Fn>
void for_runs(const Tile& tile, const Fn& fn) {
  const int64_t lanes = lanes_in<kArrangement>(tile);
  const bool whole = kArrangement == planes || tile.rooms == nullptr;
  const int64_t step = whole ? tile.positions : tile.position_stride == lanes ? tile.room_size / lanes : 1;
  for (int64_t member = 0; member < tile.members; ++member) {
    const int64_t first = tile.first + member * tile.member_stride;
    for (int64_t i = 0; i < tile.positions; i += step) {
      fn(first + i * tile.position_stride, std::min(step, tile.positions - i));
    }
  }
}

/// Calls fn(lane, element of the run) for all elements of a run.
template <int64_t kArrangement, class Fn>
void map_run(const Tile& tile, int64_t positions, const Fn& fn) {
  if constexpr (kArrangement == planes) {
#pragma omp simd
    for (int64_t i = 0; i < positions; ++i) fn(0, i);
  } else {
    const int64_t lanes = lanes_in<kArrangement>(tile);
    for (int64_t i = 0; i < positions; ++i) {
#pragma omp simd
      for (int64_t lane = 0; lane < lanes; ++lane) fn(lane, i * tile.position_stride + lane);
    }
  }
}

struct Sums {
  double a[kMaxChannels], b[kMaxChannels];
};

void copy_sums(const Sums& from, int64_t lanes, Sums& to) {
  std::copy_n(from.a, lanes, to.a);
  std::copy_n(from.b, lanes, to.b);
}

/// Adds to the sums a and b of each lane the first and the second number that term(lane, element of the run) returns,
/// over the elements of the lane in the run.
template <int64_t kArrangement, class Term>
void add_run(const Tile& tile, int64_t positions, Sums& sums, const Term& term) {
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
  } else {
    const int64_t lanes = lanes_in<kArrangement>(tile);
    Sums own;  // GCC keeps in registers only sums to which nothing else points
    copy_sums(sums, lanes, own);
    for (int64_t i = 0; i < positions; ++i) {
#pragma omp simd
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const auto [first, second] = term(lane, i * tile.position_stride + lane);
        own.a[lane] += first;
        own.b[lane] += second;
      }
    }
    copy_sums(own, lanes, sums);
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
  bool has_halves() const { return is_half(x) || is_half(d_y) || is_half(result); }
};

/// Bytes of the rooms of one thread.
int64_t rooms_bytes(int64_t arrangement, const NormSizes& sizes, const NormTypes& types) {
  return types.has_halves() ? kTileRooms * room_size(arrangement, sizes) * static_cast<int64_t>(sizeof(float)) : 0;
}

/// The loops over one arrangement. All pointers are to whole tensors; statistics are [groups, channels].
template <class T, int64_t kArrangement>
struct Norm {
  NormSizes sizes;
  NormTypes types;
  int64_t scratch_bytes;

  /// Calls fn(tile) for all tiles in parallel; one thread handles all groups of the same channels, in order. Rooms are
  /// in `scratch`.
  template <class Fn>
  void for_tiles(void* scratch, const Fn& fn) const {
    constexpr int64_t kStep = kArrangement == rows ? kMaxChannels : kArrangement;
    const int64_t tiles = (sizes.channels + kStep - 1) / kStep;
    const int64_t own = rooms_bytes(kArrangement, sizes, types);
    const int threads = own == 0 ? omp_get_max_threads() : threads_within(own, scratch_bytes);
#pragma omp parallel for num_threads(threads) if (sizes.groups * sizes.count() * sizes.channels > kSerialElements)
    for (int64_t i = 0; i < tiles; ++i) {
      for (int64_t group = 0; group < sizes.groups; ++group) {
        Tile tile = tile_of<kArrangement>(sizes, group, i * kStep);
        if (own > 0) tile.rooms = static_cast<std::byte*>(scratch) + omp_get_thread_num() * own;
        fn(tile);
      }
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
    const T* first = x.read(tile.first, tile.size(), tile.room<T>(0));
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

  /// Computes y = (x - mean) * rstd * gamma + beta of a tile, in the type Number.
  template <class Number = T>
  void apply(const Tile& tile, const LoopOperand<T>& x, const T* gamma, const T* beta, const T* mean,
             const PerLane<T>& rstd, const LoopResult<T>& y) const {
    const PerLane<Number> scale(
        tile, [&](int64_t c) { return static_cast<Number>(rstd[c]) * static_cast<Number>(gamma[tile.begin + c]); });
    const PerLane<Number> middle(tile, [&](int64_t c) { return mean[tile.statistics + c]; });
    const PerLane<Number> shift(tile, [&](int64_t c) { return beta[tile.begin + c]; });
    const int64_t lanes = lanes_in<kArrangement>(tile);
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, tile.room<T>(0));
      T* to = y.place(at, tile.room<T>(1));
      map_run<kArrangement>(tile, positions, [&](int64_t lane, int64_t i) {
        to[i] = static_cast<T>((static_cast<Number>(from[i]) - middle[lane]) * scale[lane] + shift[lane]);
      });
      y.store(at, positions * lanes, tile.room<T>(1));
    });
  }

  /// Returns, for each channel of the tile, the sum of x - near and the sum of its square over the channel's elements.
  Sums deviations(const Tile& tile, const LoopOperand<T>& x, const PerLane<double>& near) const {
    Sums sums{};
    const int64_t lanes = lanes_in<kArrangement>(tile);
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, tile.room<T>(0));
      add_run<kArrangement>(tile, positions, sums, [&](int64_t lane, int64_t i) {
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
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, tile.room<T>(0));
      const T* gradients = d_y.read(at, positions * lanes, tile.room<T>(1));
      add_run<kArrangement>(tile, positions, sums, [&](int64_t lane, int64_t i) {
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
    for_runs<kArrangement>(tile, [&](int64_t at, int64_t positions) {
      const T* from = x.read(at, positions * lanes, tile.room<T>(0));
      const T* gradients = d_y.read(at, positions * lanes, tile.room<T>(1));
      T* to = d_x.place(at, tile.room<T>(2));
      map_run<kArrangement>(tile, positions, [&](int64_t lane, int64_t i) {
        to[i] = scale[lane] * (gradients[i] - shift[lane] - (from[i] - middle[lane]) * slope[lane]);
      });
      d_x.store(at, positions * lanes, tile.room<T>(2));
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
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], norm.types.x);
    const LoopResult<T> y(out[0], norm.types.result);
    T *mean = write<T>(out, 1), *rstd = write<T>(out, 2);
    norm.for_tiles(scratch, [&](const Tile& tile) {
      norm.find_statistics(tile, epsilon, x, mean, rstd);
      norm.apply(tile, x, read<T>(in, 1), read<T>(in, 2), mean, per_lane<T>(tile, rstd), y);
    });
  };
}

template <class T, int64_t kArrangement>
LoopFn bind_apply(const Norm<T, kArrangement>& norm) {
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], norm.types.x);
    const LoopResult<T> y(out[0], norm.types.result);
    norm.for_tiles(scratch, [&](const Tile& tile) {
      norm.apply(tile, x, read<T>(in, 1), read<T>(in, 2), read<T>(in, 3), per_lane<T>(tile, read<T>(in, 4)), y);
    });
  };
}

/// Binds a loop that takes the variances of the channels in place of rstd. It computes in f64, as the reference does.
template <class T, int64_t kArrangement>
LoopFn bind_inference(const Norm<T, kArrangement>& norm, double epsilon) {
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], norm.types.x);
    const LoopResult<T> y(out[0], norm.types.result);
    const T* variance = read<T>(in, 4);
    norm.for_tiles(scratch, [&](const Tile& tile) {
      const PerLane<T> rstd(
          tile, [&](int64_t c) { return 1 / std::sqrt(static_cast<double>(variance[tile.begin + c]) + epsilon); });
      norm.template apply<double>(tile, x, read<T>(in, 1), read<T>(in, 2), read<T>(in, 3), rstd, y);
    });
  };
}

template <class T, int64_t kArrangement>
LoopFn bind_grad_batch_norm(const Norm<T, kArrangement>& norm) {
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], norm.types.x), d_y(in[4], norm.types.d_y);
    const LoopResult<T> d_x(out[0], norm.types.result);
    const T *gamma = read<T>(in, 1), *mean = read<T>(in, 2), *rstd = read<T>(in, 3);
    T *d_gamma = write<T>(out, 1), *d_beta = write<T>(out, 2);
    std::fill_n(d_gamma, norm.sizes.channels, T{});
    std::fill_n(d_beta, norm.sizes.channels, T{});
    norm.for_tiles(scratch, [&](const Tile& tile) {
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
  return [=](auto in, auto out, void* scratch) {
    const LoopOperand<T> x(in[0], norm.types.x), d_y(in[4], norm.types.d_y);
    const LoopResult<T> d_x(out[0], norm.types.result);
    norm.for_tiles(scratch, [&](const Tile& tile) {
      norm.grad_apply(tile, count, x, read<T>(in, 1), read<T>(in, 2), read<T>(in, 3), d_y,
                      read<double>(in, 5) + tile.statistics, read<double>(in, 6) + tile.statistics, d_x);
    });
  };
}

/// Binds a loop that stores the sums a and b of make_sums(tile, operands), as [groups, channels], in the first and the
/// second result; only a if there is one result.
template <class T, int64_t kArrangement, class MakeSums>
LoopFn bind_sums(const Norm<T, kArrangement>& norm, const MakeSums& make_sums) {
  return [=](auto in, auto out, void* scratch) {
    norm.for_tiles(scratch, [&](const Tile& tile) {
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
HalfValues halves_of_batch_norm(const std::string& op) {
  HalfValues halves{.operands = {0, gradient_of(op)}, .results = {}};
  if (maps(op)) {
    halves.results = {0};
  } else {
    halves.f64_results = {0, 1};
  }
  if (op == "moments_deviations") halves.f64_operands = {1};
  if (op == "batch_norm_grad_apply") halves.f64_operands = {5, 6};
  return halves;
}

NormTypes batch_norm_types_of(const KernelQuery& query) {
  return {query.inputs[0].dtype, query.inputs[gradient_of(query.op)].dtype, query.outputs[0].dtype};
}

Arrangement arrangement_of(const Type& x, const MemoryFormat& format) {
  if (const int64_t lanes = lanes_of(x, format); lanes > 0) return lanes == 16 ? blocks_of_16 : blocks_of_8;
  return x.rank() == 2 || channels_last(x, format) ? rows : planes;
}

template <class T, int64_t kArrangement>
LoopFn bind_batch_norm(const KernelQuery& query, int64_t scratch_bytes) {
  const auto norm = [&](int64_t groups) {
    return Norm<T, kArrangement>{norm_sizes(query.inputs[0].shape, groups), batch_norm_types_of(query), scratch_bytes};
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
  const NormSizes sizes = norm_sizes(query.inputs[0].shape, 1);
  choice.scratch_bytes = omp_get_max_threads() * rooms_bytes(arrangement_of(query.inputs[0], choice.inputs[0]), sizes,
                                                             batch_norm_types_of(query));
  return choice;
}

std::unique_ptr<Kernel> make_batch_norm(const KernelQuery& query, const KernelChoice& choice) {
  const Type& x = query.inputs[0];
  const Arrangement arrangement = arrangement_of(x, choice.inputs[0]);
  if (arrangement == blocks_of_16) return make_loop(bind_batch_norm<float, blocks_of_16>(query, choice.scratch_bytes));
  if (arrangement == blocks_of_8) return make_loop(bind_batch_norm<float, blocks_of_8>(query, choice.scratch_bytes));
  LoopFn loop;
  for_loop_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    loop = arrangement == rows ? bind_batch_norm<T, rows>(query, choice.scratch_bytes)
                               : bind_batch_norm<T, planes>(query, choice.scratch_bytes);
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
