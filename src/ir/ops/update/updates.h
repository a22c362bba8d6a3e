#pragma once
// The updates of optimizers: attributes, and the arithmetic that the reference and vectorized kernels share.

#include "base/fields.h"
#include "base/vector_math.h"

namespace partita {

struct SgdAttrs {
  double weight_decay = 0;
  static constexpr auto fields() { return std::tuple{field("weight_decay", &SgdAttrs::weight_decay)}; }
};

struct MomentumAttrs {
  double momentum = 0.9, dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  static constexpr auto fields() {
    using A = MomentumAttrs;
    return std::tuple{field("momentum", &A::momentum), field("dampening", &A::dampening),
                      field("nesterov", &A::nesterov), field("weight_decay", &A::weight_decay)};
  }
};

struct AdamAttrs {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW (Loshchilov and Hutter, 2019) instead of Adam (Kingma and Ba, 2015)
  /// Adds epsilon to the root of the second moment before its bias is corrected: the second form in section 2 of Kingma
  /// and Ba, 2015.
  bool biased_epsilon = false;
  static constexpr auto fields() {
    using A = AdamAttrs;
    return std::tuple{field("beta1", &A::beta1),         field("beta2", &A::beta2),
                      field("epsilon", &A::epsilon),     field("weight_decay", &A::weight_decay),
                      field("decoupled", &A::decoupled), field("biased_epsilon", &A::biased_epsilon)};
  }
};

/// Constants of one step of sgd, the same for all elements.
template <class T>
struct SgdStep {
  T rate, decay;

  SgdStep(const SgdAttrs& attrs, T learning_rate) : rate(learning_rate), decay(static_cast<T>(attrs.weight_decay)) {}
  void apply(T gradient, T& w) const { w = w - rate * (gradient + decay * w); }
};

/// Constants of one step of momentum. The step uses the velocity, or gradient + keep * velocity with Nesterov.
template <class T>
struct MomentumStep {
  T rate, decay, keep, take, of_gradient, of_velocity;

  MomentumStep(const MomentumAttrs& attrs, T learning_rate)
      : rate(learning_rate),
        decay(static_cast<T>(attrs.weight_decay)),
        keep(static_cast<T>(attrs.momentum)),
        take(static_cast<T>(1 - attrs.dampening)),
        of_gradient(attrs.nesterov ? T{1} : T{0}),
        of_velocity(attrs.nesterov ? keep : T{1}) {}

  void apply(T gradient, T& w, T& v) const {
    gradient += decay * w;
    v = keep * v + take * gradient;
    w = w - rate * (of_gradient * gradient + of_velocity * v);
  }
};

/// Constants of one step of adam, the same for all elements.
template <class T>
struct AdamStep {
  T keep1, take1, keep2, take2, root, epsilon, rate, shrink, decay;

  AdamStep(const AdamAttrs& attrs, T learning_rate, int64_t step)
      : AdamStep(attrs, static_cast<double>(learning_rate), static_cast<double>(step + 1),
                 [](double value) { return static_cast<T>(value); }) {}
  /// Computes the constants from the learning rate and the number of terms in f64, and turns each into T by `cast`.
  template <class Scalar, class Cast>
  AdamStep(const AdamAttrs& attrs, const Scalar& given, const Scalar& terms, const Cast& cast)
      : AdamStep(attrs, given, terms, Scalar(1 / sqrt_of(1 - pow_of(Scalar(attrs.beta2), terms))), cast) {}

  void apply(T gradient, T& w, T& m, T& v) const {
    gradient += decay * w;
    m = keep1 * m + take1 * gradient;
    v = keep2 * v + take2 * gradient * gradient;
    w = shrink * w - rate * m / (sqrt_of(v) * root + epsilon);
  }

 private:
  template <class Scalar, class Cast>
  AdamStep(const AdamAttrs& attrs, const Scalar& given, const Scalar& terms, const Scalar& correction, const Cast& cast)
      : keep1(attrs.beta1),
        take1(1 - attrs.beta1),
        keep2(attrs.beta2),
        take2(1 - attrs.beta2),
        root(cast(correction)),
        epsilon(attrs.biased_epsilon ? cast(attrs.epsilon * correction) : T(attrs.epsilon)),
        rate(cast(given / (1 - pow_of(Scalar(attrs.beta1), terms)))),
        shrink(attrs.decoupled ? cast(1 - given * attrs.weight_decay) : T(1)),
        decay(attrs.decoupled ? 0 : attrs.weight_decay) {}
};

}  // namespace partita
