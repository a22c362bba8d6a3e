#include "network/initializers.h"

#include <algorithm>
#include <cmath>

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

/// Draws are independent of each other, so any number of threads makes the same values.
template <class Draw>
void fill(Array& array, const Draw& draw) {
  for_dtype(array.type().dtype, [&](auto zero) {
    using T = decltype(zero);
    T* values = array.as<T>();
    const int64_t count = array.type().elements();
#pragma omp parallel for schedule(static) if (count > 4096)
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(draw(static_cast<uint64_t>(i)));
  });
}

}  // namespace

Array make_initial(const Initializer& init, const Type& type, uint64_t key) {
  check_arguments(init);
  const double first = init.args.empty() ? 0 : init.args[0], second = init.args.size() < 2 ? 0 : init.args[1];
  Array array(type);
  switch (init.kind) {
    case InitKind::zeros: break;
    case InitKind::ones: fill(array, [](uint64_t) { return 1.0; }); break;
    case InitKind::constant: fill(array, [=](uint64_t) { return first; }); break;
    case InitKind::normal: fill(array, [=](uint64_t i) { return first + second * random_normal(key, i, 0); }); break;
    case InitKind::truncated_normal:
      fill(array, [=](uint64_t i) { return first + second * random_truncated_normal(key, i, 0); });
      break;
    case InitKind::uniform:
      fill(array, [=](uint64_t i) { return first + (second - first) * uniform_of(random_word(key, i, 0)); });
      break;
  }
  return array;
}

}  // namespace partita
