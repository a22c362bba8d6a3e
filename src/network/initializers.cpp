#include "network/initializers.h"

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
  const std::vector<std::string> names{"zeros", "ones", "xavier_uniform", "xavier_normal", "he_uniform", "he_normal"};
  throw InvalidArgument(fmt::format("[initializer] unknown initializer, got '{}', expected one of [{}]{}", name,
                                    fmt::join(names, ", "), did_you_mean(name, names)),
                        ErrorKind::key);
}

Initializer constant_initializer(double value) { return {"constant", {value}}; }
Initializer normal_initializer(double mean, double sigma) { return {"normal", {mean, sigma}}; }
Initializer truncated_normal_initializer(double mean, double sigma) { return {"truncated_normal", {mean, sigma}}; }
Initializer uniform_initializer(double low, double high) { return {"uniform", {low, high}}; }

Array make_initial(const Initializer& init, const Type& type, uint64_t key) {
  const auto argument = [&](size_t i) {
    if (i < init.args.size()) return init.args[i];
    throw InvalidArgument(fmt::format("[initializer] '{}' has too few arguments, got {}, expected {}", init.kind,
                                      init.args.size(), i + 1));
  };
  Array array(type);
  const int64_t count = type.elements();
  const auto fill = [&](auto&& draw) {
    for (int64_t i = 0; i < count; ++i) array.set(i, draw(static_cast<uint64_t>(i)));
  };
  if (init.kind == "zeros") return array;
  if (init.kind == "ones") {
    fill([](uint64_t) { return 1.0; });
  } else if (init.kind == "constant") {
    fill([value = argument(0)](uint64_t) { return value; });
  } else if (init.kind == "normal") {
    fill([&, mean = argument(0), sigma = argument(1)](uint64_t i) { return mean + sigma * random_normal(key, i, 0); });
  } else if (init.kind == "truncated_normal") {
    fill([&, mean = argument(0), sigma = argument(1)](uint64_t i) {
      return mean + sigma * random_truncated_normal(key, i, 0);
    });
  } else if (init.kind == "uniform") {
    fill([&, low = argument(0), high = argument(1)](uint64_t i) {
      return low + (high - low) * uniform_of(random_word(key, i, 0));
    });
  } else {
    throw InvalidArgument(fmt::format("[initializer] unknown initializer, got '{}', expected zeros, ones, constant, "
                                      "normal, truncated_normal or uniform",
                                      init.kind),
                          ErrorKind::key);
  }
  return array;
}

}  // namespace partita
