#include "laws/special_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "ir/ops/wide.h"

namespace partita::laws {
namespace {

template <class T>
std::vector<double> ends_of() {
  using Limits = std::numeric_limits<T>;
  const double largest = Limits::max(), smallest = Limits::min();
  return {largest, -largest, smallest, -smallest, 0.0, -0.0};
}

bool is_by_itself(const OpDef& op) { return op.pointwise != nullptr; }

}  // namespace

std::string_view name_of(Special special) {
  return special == Special::open ? "open" : special == Special::ends ? "ends" : "subnormal";
}

std::vector<double> specials_of(DType dtype, Special special) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (special == Special::open) return {std::nan(""), kInfinity, -kInfinity};
  if (special == Special::ends) {
    switch (dtype) {
      case DType::f64: return ends_of<double>();
      case DType::f32: return ends_of<float>();
      case DType::bf16: return {0x1.fep127, -0x1.fep127, 0x1p-126, -0x1p-126, 0.0, -0.0};
      default: return {65504, -65504, 0x1p-14, -0x1p-14, 0.0, -0.0};
    }
  }
  switch (dtype) {
    case DType::f64: return {0x1p-1074, -0x1p-1074, 0x1p-1023, -0x1p-1030};
    case DType::f32: return {0x1p-149, -0x1p-149, 0x1p-127, -0x1p-130};
    case DType::bf16: return {0x1p-133, -0x1p-133, 0x1p-127, -0x1p-130};
    default: return {0x1p-24, -0x1p-24, 0x1p-15, -0x1p-20};
  }
}

std::vector<Array> with_specials(const OpDef& op, std::vector<Array> inputs, Special special, uint64_t seed) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    Array& input = inputs[k];
    const int64_t count = input.type().elements();
    if (!is_float(input.type().dtype) || count == 0) continue;
    const std::vector<double> numbers = specials_of(input.type().dtype, special);
    const uint64_t key = random_key(seed, fmt::format("special{}", k));
    const auto drawn = [&](int64_t i) {
      return numbers[random_below(key, i, 1, static_cast<int64_t>(numbers.size()))];
    };
    if (!is_by_itself(op)) {
      input.set(random_below(key, 0, 0, count), drawn(0));
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      if (random_below(key, i, 0, 2) == 0) input.set(i, drawn(i));
    }
  }
  return inputs;
}

std::vector<Array> flushed(std::vector<Array> inputs, const std::function<bool(DType)>& flushes) {
  for (Array& input : inputs) {
    const DType dtype = input.type().dtype;
    if (!is_float(dtype) || !flushes(dtype)) continue;
    const double smallest = specials_of(dtype, Special::ends)[2];
    for (int64_t i = 0; i < input.type().elements(); ++i) {
      if (std::abs(input.at(i)) < smallest) input.set(i, std::copysign(0.0, input.at(i)));
    }
  }
  return inputs;
}

namespace {

/// Whether a number is so large that a sum in another order may have no end.
bool is_near_the_end(double value, DType dtype) {
  return is_float(dtype) && std::abs(value) >= 0.01 * specials_of(dtype, Special::ends)[0];
}

bool is_alike(double a, double b, DType dtype, bool is_pointwise, const Allowance& allowance, double largest) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (!is_float(dtype)) return false;
  if (std::isfinite(a) && std::isfinite(b)) {
    const double smallest = specials_of(dtype, Special::ends)[2];
    return std::abs(a - b) <= allowance.tolerance * (is_pointwise ? std::abs(b) : largest) + smallest;
  }
  if (is_pointwise) return false;
  if (std::isfinite(b)) return allowance.overflows || allowance.spreads;
  return allowance.hides || !std::isfinite(a) || is_near_the_end(a, dtype);
}

}  // namespace

std::string differs_in_kind(const Array& got, const Array& expected, bool is_pointwise, const Allowance& allowance,
                            double largest) {
  if (got.type() != expected.type()) return fmt::format("type {}", print(got.type()));
  const int64_t count = got.type().elements();
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(expected.at(i))) largest = std::max(largest, std::abs(expected.at(i)));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (is_alike(got.at(i), expected.at(i), got.type().dtype, is_pointwise, allowance, largest)) continue;
    return fmt::format("element {} is {}, expected {}", i, got.at(i), expected.at(i));
  }
  return "";
}

Sample with_floats(const OpDef& op, const Sample& given_sample, DType dtype) {
  Sample sample = given_sample;
  for (const auto& [name, text] : sample.attrs.texts()) {
    if (name == "dtype" && text == "f64") {
      sample.attrs = sample.attrs.with({{name, std::string(partita::name_of(dtype))}});
    }
  }
  const Attrs& attrs = sample.attrs.empty() ? op.attrs : sample.attrs;
  const DType types[] = {dtype, wide_type(dtype), DType::f64};
  std::vector<Type> inputs;
  const std::function<bool(size_t)> fit = [&](size_t k) {
    if (k == sample.inputs.size()) {
      try {
        op.infer({attrs, inputs, {}});
        return true;
      } catch (const InvalidArgument&) {
        return false;
      }
    }
    const Type& given = sample.inputs[k].type;
    for (const DType type : types) {
      inputs.push_back({given.dtype == DType::f64 ? type : given.dtype, given.shape});
      if (fit(k + 1)) return true;
      inputs.pop_back();
    }
    return false;
  };
  if (!fit(0)) return given_sample;
  for (size_t k = 0; k < inputs.size(); ++k) sample.inputs[k].type = inputs[k];
  return sample;
}

}  // namespace partita::laws
