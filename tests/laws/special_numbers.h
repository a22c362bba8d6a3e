#pragma once
// Operands with numbers that a training meets when it goes wrong, and how results of devices compare on them.

#include "harness.h"

namespace partita::laws {

/// NaN and the infinities; the largest and the smallest normal numbers and zeros of both signs; numbers below the
/// smallest normal one.
enum class Special { open, ends, subnormal };
inline constexpr Special kSpecials[] = {Special::open, Special::ends, Special::subnormal};
std::string_view name_of(Special special);

/// Numbers of a kind in a float type.
std::vector<double> specials_of(DType dtype, Special special);
/// Puts special numbers into the floats of some operands: many where each element is by itself, else one in each
/// operand, so sums do not depend on their order.
std::vector<Array> with_specials(const OpDef& op, std::vector<Array> inputs, Special special, uint64_t seed);

/// The operands with numbers below the smallest normal one, of the types that `flushes` names, replaced by zeros of
/// their sign.
std::vector<Array> flushed(std::vector<Array> inputs, const std::function<bool(DType)>& flushes);

/// How results may differ from the reference, which computes in f64 and skips what is masked or padded.
struct Allowance {
  double tolerance = 0;    // share of a number itself for pointwise ops, else of the largest operand or result
  bool overflows = false;  // numbers in between may be larger than the type's: what is finite may not be so
  bool spreads = false;    // products with zeros of masks and padding: what is finite may be NaN
  bool hides = false;      // the order of sums decides whether they overflow: what is not finite may be so
};
/// "" or where a result is another NaN, infinity or number than expected. Unless
/// `hides`, no number stands where the expected result is not finite.
std::string differs_in_kind(const Array& got, const Array& expected, bool is_pointwise, const Allowance& allowance,
                            double largest);

/// The sample with as many floats of another type as the op takes: statistics stay in f32, and sums in f64. Results
/// that an attribute puts in the type stay in f64 if it cannot.
Sample with_floats(const OpDef& op, const Sample& sample, DType dtype);

}  // namespace partita::laws
