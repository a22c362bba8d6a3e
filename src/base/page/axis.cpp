#include "base/page/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace partita {

double tick_step(double span, int count) {
  const double rough = span / count, power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (step < rough * 0.8) step = power * factor;
  }
  return step;
}

std::string print_seconds_tick(double seconds) {
  if (seconds == 0) return "0";
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} us", seconds * 1e6);
}

std::string print_number_tick(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.4g}", value);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  return size >= 1e4 ? fmt::format("{:.4g}k", value / 1e3) : fmt::format("{:.4g}", value);
}

std::string print_bytes_tick(double bytes) {
  if (bytes == 0) return "0";
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && std::abs(bytes) >= 1024; ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string open_svg(double width, double height, std::string_view label) {
  return fmt::format(R"(<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">)", width, height, label);
}

Axis::Axis(double low, double high, double first_pixel, double last_pixel, bool is_log)
    : low_(low), high_(high), first_(first_pixel), last_(last_pixel), is_log_(is_log) {
  if (is_log_ && low_ == high_) {
    low_ /= 2;
    high_ *= 2;
  } else if (!(low_ < high_)) {
    const double half = low_ == 0 ? 0.5 : std::abs(low_) / 2;
    low_ -= half;
    high_ += half;
  }
}

double Axis::at(double number) const {
  const double part =
      is_log_ ? std::log(number / low_) / std::log(high_ / low_) : number / (high_ - low_) - low_ / (high_ - low_);
  return first_ + std::clamp(part, -0.01, 1.01) * (last_ - first_);
}

std::vector<double> Axis::ticks(int count, double unit) const {
  std::vector<double> numbers;
  if (!is_log_) {
    const double step = tick_step((high_ - low_) / unit, count) * unit;
    const double first = std::ceil(low_ / step - 1e-9);
    for (int64_t i = 0; i <= 4 * count && (first + static_cast<double>(i)) * step <= high_ + 1e-9 * step; ++i) {
      numbers.push_back((first + static_cast<double>(i)) * step);
    }
    return numbers;
  }
  const double lowest = std::floor(std::log10(low_)), highest = std::ceil(std::log10(high_));
  const bool only_powers = highest - lowest > count / 2.0 + 1;
  const double stride = std::max(1.0, std::ceil((highest - lowest) / count));
  for (double power = lowest; power <= highest; power += only_powers ? stride : 1) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double number = factor * std::pow(10, power);
      const bool is_shown = number >= low_ * 0.999999 && number <= high_ * 1.000001;
      if (is_shown && (factor == 1.0 || !only_powers)) numbers.push_back(number);
    }
  }
  return numbers.size() < 2 ? std::vector<double>{low_, high_} : numbers;
}

}  // namespace partita
