#pragma once
// Axes and frames of charts as SVG, in the classes of the style sheet.

#include <string>
#include <string_view>
#include <vector>

namespace partita {

inline constexpr double kChartWidth = 1080;               // width of a chart over the whole page, in pixels of its SVG
inline constexpr double kAxisLeft = 78, kAxisRight = 12;  // margins of the plotted area

/// Returns a round distance of ticks, 1, 2 or 5 times a power of 10, so that a range of `span` has about `count` of
/// them. `span` is above 0.
double tick_step(double span, int count);

/// Formats seconds with up to four digits in s, ms or us, without trailing zeros: "1.5 s"; "0" for 0.
std::string print_seconds_tick(double seconds);
/// Formats a number with up to four digits: "5000", "20k", "1.5M".
std::string print_number_tick(double value);
/// Formats bytes with up to four digits, without trailing zeros: "1.5 GiB"; "0" for 0.
std::string print_bytes_tick(double bytes);

/// Returns the beginning of an SVG that fills the width of its parent. `label` is read out to those who do not see it.
std::string open_svg(double width, double height, std::string_view label);

/// Maps numbers to pixels, by their values or by their logarithms.
class Axis {
 public:
  /// Spans the numbers from `low` to `high`, made wider if they are equal. With `is_log` both are above 0.
  Axis(double low, double high, double first_pixel, double last_pixel, bool is_log = false);
  double at(double number) const;
  double low() const { return low_; }
  double high() const { return high_; }
  /// Returns about `count` round numbers of the range; with logarithms 1, 2 and 5 times powers of 10, or only powers if
  /// these are enough.
  /// `unit`: ticks are round multiples of it.
  std::vector<double> ticks(int count, double unit = 1) const;

 private:
  double low_, high_, first_, last_;
  bool is_log_;
};

}  // namespace partita
