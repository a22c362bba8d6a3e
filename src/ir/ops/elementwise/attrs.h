#pragma once
// Attributes of the ops of this folder.

#include "base/fields.h"

namespace partita {

/// y = scale * x + bias.
struct ScaleAttrs {
  double scale = 1, bias = 0;
  static constexpr auto fields() {
    return std::tuple{field("scale", &ScaleAttrs::scale), field("bias", &ScaleAttrs::bias)};
  }
};

/// y = x to the power `exponent`.
struct PowAttrs {
  double exponent = 2;
  static constexpr auto fields() { return std::tuple{field("exponent", &PowAttrs::exponent)}; }
};

/// `order`: how often the digamma function is differentiated, at least once.
struct PolygammaAttrs {
  int64_t order = 1;
  static constexpr auto fields() { return std::tuple{field("order", &PolygammaAttrs::order)}; }
};

/// `approximate`: with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) instead of the error function, as in GPT-2.
struct GeluAttrs {
  bool approximate = false;
  static constexpr auto fields() { return std::tuple{field("approximate", &GeluAttrs::approximate)}; }
};

/// `axis`: the dimension of x that the bias is added along.
struct BiasAddAttrs {
  int64_t axis = 1;
  static constexpr auto fields() { return std::tuple{field("axis", &BiasAddAttrs::axis)}; }
};

struct CastAttrs {
  DType dtype = DType::f32;
  static constexpr auto fields() { return std::tuple{field("dtype", &CastAttrs::dtype)}; }
};

/// `dtype`: bf16 or f16, whose digits the result has.
struct RoundAttrs {
  DType dtype = DType::bf16;
  static constexpr auto fields() { return std::tuple{field("dtype", &RoundAttrs::dtype)}; }
};

}  // namespace partita
