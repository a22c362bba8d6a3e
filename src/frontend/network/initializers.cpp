#include "frontend/network/initializers.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/philox.h"

namespace partita {

Fans fans_of(const Shape& shape) {
  if (shape.size() < 2) return {static_cast<double>(elements(shape)), static_cast<double>(elements(shape))};
  double taps = 1;
  for (size_t d = 2; d < shape.size(); ++d) taps *= static_cast<double>(shape[d]);
  return {static_cast<double>(shape[1]) * taps, static_cast<double>(shape[0]) * taps};
}

Initializer initializer(Init rule, const Shape& shape) {
  const Fans fans = fans_of(shape);
  const auto uniform = [](double sigma) { return uniform_initializer(-std::sqrt(3) * sigma, std::sqrt(3) * sigma); };
  const double xavier = std::sqrt(2 / (fans.in + fans.out)), he = std::sqrt(2 / fans.in);
  switch (rule) {
    case Init::zeros: return {InitKind::zeros, {}};
    case Init::ones: return {InitKind::ones, {}};
    case Init::xavier_uniform: return uniform(xavier);
    case Init::xavier_normal: return normal_initializer(0, xavier);
    case Init::he_uniform: return uniform(he);
    case Init::he_normal: return normal_initializer(0, he);
    case Init::he_normal_fan_out: return normal_initializer(0, std::sqrt(2 / fans.out));
  }
  return {};
}

Initializer constant_initializer(double value) { return {InitKind::constant, {value}}; }
Initializer normal_initializer(double mean, double sigma) { return {InitKind::normal, {mean, sigma}}; }
Initializer truncated_normal_initializer(double mean, double sigma) {
  return {InitKind::truncated_normal, {mean, sigma}};
}
Initializer uniform_initializer(double low, double high) { return {InitKind::uniform, {low, high}}; }

Initializer InitRule::of(const Shape& shape) const {
  if (const auto* fixed = std::get_if<Initializer>(&rule_)) return *fixed;
  return initializer(std::get<Init>(rule_), shape);
}

namespace {

/// Calls fn once, with the function that returns the initial value of an element, as a double, from its index in the
/// state.
template <class Fn>
void with_draw(const Initializer& init, uint64_t key, const Fn& fn) {
  const double first = init.args.empty() ? 0 : init.args[0], second = init.args.size() < 2 ? 0 : init.args[1];
  switch (init.kind) {
    case InitKind::zeros: return fn([](uint64_t) { return 0.0; });
    case InitKind::ones: return fn([](uint64_t) { return 1.0; });
    case InitKind::constant: return fn([=](uint64_t) { return first; });
    case InitKind::normal: return fn([=](uint64_t i) { return first + second * random_normal(key, i, 0); });
    case InitKind::truncated_normal:
      return fn([=](uint64_t i) { return first + second * random_truncated_normal(key, i, 0); });
    case InitKind::uniform:
      return fn([=](uint64_t i) { return first + (second - first) * uniform_of(random_word(key, i, 0)); });
  }
}

}  // namespace

void make_initial_part(const Initializer& init, DType dtype, const Box& box, uint64_t key, void* to) {
  check_arguments(init);
  Box whole = box;
  for (Range& range : whole) range = {0, range.size, range.size};
  with_draw(init, key, [&](const auto& draw) {
    for_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      for_common_runs(box, whole, box, [&](int64_t first, int64_t place, int64_t count) {
        T* values = static_cast<T*>(to) + place;
        // Draws are independent, so any number of threads makes the same values.
#pragma omp parallel for schedule(static) if (count > 4096)
        for (int64_t i = 0; i < count; ++i) values[i] = convert<T>(draw(static_cast<uint64_t>(first + i)));
      });
    });
  });
}

Array make_initial(const Initializer& init, const Type& type, uint64_t key) {
  Array array(type);
  make_initial_part(init, type.dtype, whole_box(type.shape), key, array.data());
  return array;
}

Array random_operand(const Type& type, uint64_t key) {
  Array array(type);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const auto element = static_cast<uint64_t>(i);
    array.set(i, is_float(type.dtype) ? random_normal(key, element, 0)
                                      : static_cast<double>(random_below(key, element, 0, 2)));
  }
  return array;
}

}  // namespace partita
