// Random numbers as StableHLO: Philox4x32-10 (base/philox.h) in 64-bit integers, of global elements. Words have the
// bits that they have everywhere.

#include "ir/ops/random/emit_random.h"

#include <cmath>
#include <numbers>

#include "ir/ops/emission.h"
#include "ir/ops/random/attrs.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

/// The four words of the counter of each element, as i64 below 2^32.
class PhiloxEmitter {
 public:
  /// `whole` and `begin` are as in DropoutAttrs.
  PhiloxEmitter(const EmitCall& call, const Shape& part, const std::vector<int64_t>& whole,
                const std::vector<int64_t>& begin)
      : call_(call), type_{DType::i64, part}, low_(integer((int64_t{1} << 32) - 1)), half_(integer(32)) {
    const Shape strides = strides_of(whole.empty() ? part : whole);
    Hlo element = first_of(begin, strides);
    for (size_t d = 0; d < part.size(); ++d) {
      const Hlo steps = hlo_iota(call, static_cast<int64_t>(d), type_);
      element = both("add", element, both("multiply", steps, integer(strides[d])));
    }
    lane_ = both("and", element, integer(3));
    block_ = both("shift_right_logical", element, integer(2));
  }

  /// Returns the words of a stream at a step, a scalar.
  std::array<Hlo, 4> words(uint64_t key, const Hlo& step) const {
    const Hlo time = call_.broadcast_in(step, {}, type_.shape);
    std::array<Hlo, 4> counter{lower(block_), upper(block_), lower(time), upper(time)};
    const Hlo factors[2] = {integer(0xD2511F53), integer(0xCD9E8D57)};
    uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
    for (int round = 0; round < 10; ++round) {
      const Hlo p = both("multiply", factors[0], counter[0]), q = both("multiply", factors[1], counter[2]);
      counter = {both("xor", both("xor", upper(q), counter[1]), integer(keys[0])), lower(q),
                 both("xor", both("xor", upper(p), counter[3]), integer(keys[1])), lower(p)};
      keys[0] += 0x9E3779B9;
      keys[1] += 0xBB67AE85;
    }
    return counter;
  }

  /// Returns the word of each element.
  Traced word(const std::array<Hlo, 4>& words) const {
    return select_of(lane() < 2, pair(words[0], words[1]), pair(words[2], words[3]));
  }
  /// Returns the first (second) word of the pair of each element.
  Traced of_pair(const std::array<Hlo, 4>& words, size_t k) const {
    return select_of(lane() < 2, Traced(call_, words[k]), Traced(call_, words[k + 2]));
  }
  /// Returns `even` for the first element of each pair, else `odd`.
  Traced pair(const Hlo& even, const Hlo& odd) const {
    const Traced place(call_, both("and", lane_, integer(1)));
    return select_of(place == 0, Traced(call_, even), Traced(call_, odd));
  }

  /// Returns the number in (0, 1) of each word, in f64.
  Traced uniform(const Traced& word) const {
    const Hlo upper = both("shift_right_logical", word.as(call_, type_), integer(8));
    return (Traced(call_, call_.convert(upper, DType::f64)) + 0.5) * (1.0 / 16777216.0);
  }

 private:
  /// Returns the global number of the first element.
  Hlo first_of(const std::vector<int64_t>& begin, const Shape& strides) const {
    int64_t first = 0;
    for (size_t d = 0; d < begin.size(); ++d) first += begin[d] * strides[d];
    if (call_.begins == nullptr) return integer(first);
    Hlo sum = integer(0);
    for (size_t d = 0; d < begin.size(); ++d) {
      sum = both("add", sum, both("multiply", call_.begin(begin[d], type_, d), integer(strides[d])));
    }
    return sum;
  }
  Traced lane() const { return {call_, lane_}; }
  Hlo integer(int64_t value) const { return call_.splat_integer(value, type_); }
  Hlo both(const char* op, const Hlo& a, const Hlo& b) const {
    return call_.body.add_same(fmt::format("stablehlo.{}", op), {a, b});
  }
  Hlo lower(const Hlo& x) const { return both("and", x, low_); }
  Hlo upper(const Hlo& x) const { return both("shift_right_logical", x, half_); }

  const EmitCall& call_;
  const Type type_;
  const Hlo low_, half_;
  Hlo lane_, block_;
};

/// Returns the polynomial of x with these factors, that of the highest power first.
Traced emitted_polynomial(const Traced& x, const std::vector<double>& factors) {
  Traced sum = factors.front();
  for (size_t k = 1; k < factors.size(); ++k) sum = sum * x + factors[k];
  return sum;
}

/// Returns the inverse normal distribution as base/philox.cpp computes it.
Traced inverse_normal_of(const Traced& p) {
  const std::vector<double> a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                              1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00},
      b{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
        6.680131188771972e+01,  -1.328068155288572e+01, 1},
      c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
        -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00},
      d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1};
  const auto tail = [&](const Traced& share) {
    const Traced q = sqrt_of(-2 * log_of(share));
    return emitted_polynomial(q, c) / emitted_polynomial(q, d);
  };
  const Traced q = p - 0.5, r = q * q;
  const Traced middle = emitted_polynomial(r, a) * q / emitted_polynomial(r, b);
  const Traced x = select_of(p < 0.02425, tail(p), select_of(p > 1 - 0.02425, -tail(1 - p), middle));
  const Traced u = (normal_cdf(x) - p) * std::sqrt(2 * std::numbers::pi) * exp_of(x * x * 0.5);
  return x - u / (1 + x * u * 0.5);
}

Traced normal_numbers(const EmitCall& call, const PhiloxEmitter& philox, const std::array<Hlo, 4>& words) {
  const Type type{DType::f64, call.outputs[0].shape};
  const Traced radius = sqrt_of(-2 * log_of(philox.uniform(philox.of_pair(words, 0))));
  const Hlo angle = (philox.uniform(philox.of_pair(words, 1)) * (2 * std::numbers::pi)).as(call, type);
  const Hlo cosine = call.body.add_same("stablehlo.cosine", {angle}),
            sine = call.body.add_same("stablehlo.sine", {angle});
  return radius * philox.pair(cosine, sine);
}

}  // namespace

/// An element is kept where its word is at least the threshold, as the kernel compares them.
std::vector<Hlo> emit_dropout(const EmitCall& call) {
  const auto& attrs = call.attrs.as<DropoutAttrs>();
  const Type& result = call.outputs[0];
  const PhiloxEmitter philox(call, result.shape, attrs.whole, attrs.begin);
  const Traced word = philox.word(philox.words(static_cast<uint64_t>(attrs.key), call.inputs[1]));
  const Type wide{wide_type(result.dtype), result.shape};
  const Traced x(call, call.convert(call.inputs[0], wide.dtype));
  const Traced y = select_of(word >= std::ceil(attrs.rate * 4294967296.0), x * (1 / (1 - attrs.rate)), 0);
  return {call.convert(y.as(call, wide), result.dtype)};
}

/// Numbers are computed in f64. Logarithms and cosines are those of the target, so normal numbers are equal in all
/// bits on one kind of device only.
std::vector<Hlo> emit_random(const EmitCall& call) {
  const auto& attrs = call.attrs.as<RandomAttrs>();
  const Type& result = call.outputs[0];
  const PhiloxEmitter philox(call, result.shape, attrs.whole, attrs.begin);
  const auto words = philox.words(static_cast<uint64_t>(attrs.key), call.inputs[0]);
  Traced numbers = 0;
  if (attrs.distribution == "normal") {
    numbers = normal_numbers(call, philox, words);
  } else {
    numbers = philox.uniform(philox.word(words));
    constexpr double kBelow = 0.022750131948179207;  // the share of normal numbers below -2
    if (attrs.distribution == "truncated_normal") numbers = inverse_normal_of(numbers * (1 - 2 * kBelow) + kBelow);
  }
  const Hlo y = call.convert(numbers.as(call, {DType::f64, result.shape}), wide_type(result.dtype));
  return {call.convert(y, result.dtype)};
}

}  // namespace partita
