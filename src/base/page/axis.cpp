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

Axis::Axis(double least, double most, double first_pixel, double last_pixel, bool is_log)
    : least_(least), most_(most), first_(first_pixel), last_(last_pixel), is_log_(is_log) {
  if (is_log_ && least_ == most_) {
    least_ /= 2;
    most_ *= 2;
  } else if (!(least_ < most_)) {
    const double half = least_ == 0 ? 0.5 : std::abs(least_) / 2;
    least_ -= half;
    most_ += half;
  }
}

double Axis::at(double number) const {
  const double part = is_log_ ? std::log(number / least_) / std::log(most_ / least_)
                              : number / (most_ - least_) - least_ / (most_ - least_);
  return first_ + std::clamp(part, -0.01, 1.01) * (last_ - first_);
}

std::vector<double> Axis::ticks(int count, double unit) const {
  std::vector<double> numbers;
  if (!is_log_) {
    const double step = tick_step((most_ - least_) / unit, count) * unit;
    const double first = std::ceil(least_ / step - 1e-9);
    for (int64_t i = 0; i <= 4 * count && (first + static_cast<double>(i)) * step <= most_ + 1e-9 * step; ++i) {
      numbers.push_back((first + static_cast<double>(i)) * step);
    }
    return numbers;
  }
  const double lowest = std::floor(std::log10(least_)), highest = std::ceil(std::log10(most_));
  const bool only_powers = highest - lowest > count / 2.0 + 1;
  const double stride = std::max(1.0, std::ceil((highest - lowest) / count));
  for (double power = lowest; power <= highest; power += only_powers ? stride : 1) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double number = factor * std::pow(10, power);
      const bool is_shown = number >= least_ * 0.999999 && number <= most_ * 1.000001;
      if (is_shown && (factor == 1.0 || !only_powers)) numbers.push_back(number);
    }
  }
  return numbers.size() < 2 ? std::vector<double>{least_, most_} : numbers;
}

}  // namespace partita
