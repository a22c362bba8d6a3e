#pragma once
// Batch normalization: attributes, and loops that its ops share. x[(g m), c] or x[(g m), c, h, w] is seen as groups,
// members, channels and the elements of one plane.

#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"
#include "ir/ops/norm/moments.h"
#include "ir/ops/wide.h"

namespace partita {

/// Rows are (group, member), group major; each group has separate statistics. The gradient has no attributes: it takes
/// the number of groups from mean[groups, c].
struct BatchNormAttrs {
  double epsilon = 1e-5;
  int64_t groups = 1;
  static constexpr auto fields() {
    return std::tuple{field("epsilon", &BatchNormAttrs::epsilon), field("groups", &BatchNormAttrs::groups)};
  }
};

/// `count`: global number of elements of one group and channel.
struct BatchNormGradApplyAttrs {
  int64_t count = 1;
  static constexpr auto fields() { return std::tuple{field("count", &BatchNormGradApplyAttrs::count)}; }
};

/// new = (1 - momentum) * old + momentum * batch. `epsilon` is the one inside rstd; `count` is the number of elements
/// of one group and channel.
struct RunningStatisticsAttrs {
  double momentum = 0.1, epsilon = 1e-5;
  int64_t count = 1;
  static constexpr auto fields() {
    using A = RunningStatisticsAttrs;
    return std::tuple{field("momentum", &A::momentum), field("epsilon", &A::epsilon), field("count", &A::count)};
  }
};

struct BatchNormInferenceAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields() { return std::tuple{field("epsilon", &BatchNormInferenceAttrs::epsilon)}; }
};

/// Sizes of x as groups, members of each, channels and elements of a plane.
struct NormSizes {
  int64_t groups = 1, members = 0, channels = 0, plane = 1;
  /// Number of elements per mean.
  int64_t count() const { return members * plane; }
};
/// Returns the sizes of an x that passed `require_norm_input`.
NormSizes norm_sizes(const Shape& x, int64_t groups);

/// Checks that x has 2 or 4 dimensions and its rows divide into `groups`. Throws InvalidArgument otherwise.
void require_norm_input(std::string_view op, const OpCall& call, int64_t groups);
/// Returns the type of mean and rstd: [groups, c] in the wide type.
Type statistics_type(const Type& x, int64_t groups);
/// Returns the type of gamma and beta: [c] in the element type of x.
Type channel_type(const Type& x);
/// Sets `infer` and `rule` from a text such as "x,c,gc->gc,sums |", which names the operands and results: `x`, which
/// stands for "(gm)c" or "(gm)chw", a number `c` of each channel as gamma, statistics `gc`, and their `sums` in f64. If
/// it ends in '|', m, h and w are cut only through the expansion. `groups` returns the number of groups. Types that do
/// not fit throw InvalidArgument.
void set_norm_types(OpDef& op, const std::string& text, const std::function<int64_t(const OpCall&)>& groups);

/// Returns the number of groups of operand K, which are statistics or their sums.
template <size_t K>
int64_t groups_of(const OpCall& call) {
  return call.inputs[K].shape[0];
}
/// Returns the number of groups in the attributes, an A.
template <class A>
int64_t groups_in(const OpCall& call) {
  return call.attrs.as<A>().groups;
}

/// Returns the gradient of x through mean and rstd, results 1 and 2 of batch_norm, or an empty Value if none arrived.
/// Gradients of gradients arrive there.
Value gradient_of_batch_statistics(const GradCall& call);
/// Build batch_norm_grad and batch_norm_grad_sums from ops that have gradients.
std::vector<Value> batch_norm_grad_formula(const ExpandCall& call);
std::vector<Value> batch_norm_grad_sums_formula(const ExpandCall& call);

/// Write the parts of batch normalization as StableHLO.
std::vector<Hlo> emit_moments_sum(const EmitCall& call);
std::vector<Hlo> emit_moments_deviations(const EmitCall& call);
std::vector<Hlo> emit_batch_norm_apply(const EmitCall& call);
std::vector<Hlo> emit_batch_norm_inference(const EmitCall& call);
std::vector<Hlo> emit_batch_norm_grad_sums(const EmitCall& call);
std::vector<Hlo> emit_batch_norm_grad_apply(const EmitCall& call);
std::vector<Hlo> emit_running_statistics(const EmitCall& call);

/// Calls fn(group * channels + channel, channel, first element, end) for each plane of x, in the order of its elements.
template <class Fn>
void for_planes(const NormSizes& sizes, Fn&& fn) {
  int64_t at = 0;
  for (int64_t group = 0; group < sizes.groups; ++group) {
    for (int64_t member = 0; member < sizes.members; ++member) {
      for (int64_t channel = 0; channel < sizes.channels; ++channel, at += sizes.plane) {
        fn(group * sizes.channels + channel, channel, at, at + sizes.plane);
      }
    }
  }
}

/// Computes the sum of x per group and channel: `sum` has groups * channels elements.
template <class T>
void sum_planes(const NormSizes& sizes, const T* x, double* sum) {
  std::fill(sum, sum + sizes.groups * sizes.channels, 0);
  for_planes(sizes, [&](int64_t k, int64_t, int64_t begin, int64_t end) {
    double plane = 0;
    for (int64_t i = begin; i < end; ++i) plane += double(x[i]);
    sum[k] += plane;
  });
}

/// Computes, per group and channel, the sums of x - near and of its square.
template <class T>
void sum_deviations(const NormSizes& sizes, const T* x, const double* near, double* rest, double* squares) {
  std::fill(rest, rest + sizes.groups * sizes.channels, 0);
  std::fill(squares, squares + sizes.groups * sizes.channels, 0);
  for_planes(sizes, [&](int64_t k, int64_t, int64_t begin, int64_t end) {
    double plane = 0, plane_squares = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double difference = double(x[i]) - near[k];
      plane += difference;
      plane_squares += difference * difference;
    }
    rest[k] += plane;
    squares[k] += plane_squares;
  });
}

/// Computes, per group and channel, the sum of d_y and the sum of d_y * (x - mean) * rstd.
template <class T>
void norm_grad_sums(const NormSizes& sizes, const T* x, const T* mean, const T* rstd, const T* d_y, double* sum,
                    double* projection) {
  std::fill(sum, sum + sizes.groups * sizes.channels, 0);
  std::fill(projection, projection + sizes.groups * sizes.channels, 0);
  for_planes(sizes, [&](int64_t k, int64_t, int64_t begin, int64_t end) {
    double plain = 0, projected = 0;
    for (int64_t i = begin; i < end; ++i) {
      plain += double(d_y[i]);
      projected += double(d_y[i]) * (double(x[i]) - double(mean[k]));
    }
    sum[k] += plain;
    projection[k] += projected * double(rstd[k]);
  });
}

/// Computes d_x = gamma * rstd * (d_y - (sum + xhat * projection) / count), where xhat = (x - mean) * rstd.
template <class T>
void norm_grad_apply(const NormSizes& sizes, int64_t count, const T* x, const T* gamma, const T* mean, const T* rstd,
                     const T* d_y, const double* sum, const double* projection, T* d_x) {
  for_planes(sizes, [&](int64_t k, int64_t channel, int64_t begin, int64_t end) {
    const double scale = double(gamma[channel]) * double(rstd[k]);
    const double shift = sum[k] / double(count), slope = projection[k] / double(count) * double(rstd[k]);
    const double middle = double(mean[k]);
    for (int64_t i = begin; i < end; ++i) {
      d_x[i] = T(scale * (double(d_y[i]) - shift - (double(x[i]) - middle) * slope));
    }
  });
}

/// Computes y = (x - mean) * rstd * gamma + beta.
template <class T>
void norm_apply(const NormSizes& sizes, const T* x, const T* gamma, const T* beta, const T* mean, const T* rstd, T* y) {
  for_planes(sizes, [&](int64_t k, int64_t channel, int64_t begin, int64_t end) {
    const double scale = double(rstd[k]) * double(gamma[channel]);
    const double middle = double(mean[k]), shift = double(beta[channel]);
    for (int64_t i = begin; i < end; ++i) y[i] = T((double(x[i]) - middle) * scale + shift);
  });
}

}  // namespace partita
