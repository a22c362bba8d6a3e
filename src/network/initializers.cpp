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

Initializer initializer(const std::string& name, const Shape& shape) {
  const Fans fans = fans_of(shape);
  const auto uniform = [](double sigma) { return uniform_initializer(-std::sqrt(3) * sigma, std::sqrt(3) * sigma); };
  const double xavier = std::sqrt(2 / (fans.in + fans.out)), he = std::sqrt(2 / fans.in);
  if (name == "zeros" || name == "ones") return {name, {}};
  if (name == "xavier_uniform") return uniform(xavier);
  if (name == "xavier_normal") return normal_initializer(0, xavier);
  if (name == "he_uniform") return uniform(he);
  if (name == "he_normal") return normal_initializer(0, he);
  if (name == "he_normal_fan_out") return normal_initializer(0, std::sqrt(2 / fans.out));
  const std::vector<std::string> names{"zeros",      "ones",      "xavier_uniform",   "xavier_normal",
                                       "he_uniform", "he_normal", "he_normal_fan_out"};
  throw InvalidArgument(fmt::format("[initializer] unknown initializer, got '{}', expected one of [{}]{}", name,
                                    fmt::join(names, ", "), did_you_mean(name, names)),
                        ErrorKind::key);
}

Initializer constant_initializer(double value) { return {"constant", {value}}; }
Initializer normal_initializer(double mean, double sigma) { return {"normal", {mean, sigma}}; }
Initializer truncated_normal_initializer(double mean, double sigma) { return {"truncated_normal", {mean, sigma}}; }
Initializer uniform_initializer(double low, double high) { return {"uniform", {low, high}}; }

Initializer InitRule::of(const Shape& shape) const {
  if (const auto* fixed = std::get_if<Initializer>(&rule_)) return *fixed;
  return initializer(std::get<std::string>(rule_), shape);
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

/// The arguments of an initializer of a known kind: as many as it takes, finite and in order.
void check_arguments(const Initializer& init) {
  const std::vector<std::pair<std::string, size_t>> kinds{
      {"zeros", 0}, {"ones", 0}, {"constant", 1}, {"normal", 2}, {"truncated_normal", 2}, {"uniform", 2}};
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == init.kind; });
  if (kind == kinds.end()) {
    throw InvalidArgument(fmt::format("[initializer] unknown initializer, got '{}', expected zeros, ones, constant, "
                                      "normal, truncated_normal or uniform",
                                      init.kind),
                          ErrorKind::key);
  }
  const auto& args = init.args;
  bool legal = args.size() == kind->second;
  for (double value : args) legal = legal && std::isfinite(value);
  if (legal && init.kind.ends_with("normal")) legal = args[1] >= 0;
  if (legal && init.kind == "uniform") legal = args[0] <= args[1];
  if (legal) return;
  throw InvalidArgument(fmt::format("[initializer] bad arguments, got {}({}), expected {} finite numbers{}", init.kind,
                                    fmt::join(args, ", "), kind->second,
                                    init.kind == "uniform" ? ", low <= high"
                                    : kind->second == 2    ? ", sigma >= 0"
                                                           : ""));
}

}  // namespace

Array make_initial(const Initializer& init, const Type& type, uint64_t key) {
  check_arguments(init);
  const double first = init.args.empty() ? 0 : init.args[0], second = init.args.size() < 2 ? 0 : init.args[1];
  Array array(type);
  if (init.kind == "ones") {
    fill(array, [](uint64_t) { return 1.0; });
  } else if (init.kind == "constant") {
    fill(array, [=](uint64_t) { return first; });
  } else if (init.kind == "normal") {
    fill(array, [=](uint64_t i) { return first + second * random_normal(key, i, 0); });
  } else if (init.kind == "truncated_normal") {
    fill(array, [=](uint64_t i) { return first + second * random_truncated_normal(key, i, 0); });
  } else if (init.kind == "uniform") {
    fill(array, [=](uint64_t i) { return first + (second - first) * uniform_of(random_word(key, i, 0)); });
  }
  return array;
}

}  // namespace partita
