#pragma once
// Charts of lines over steps, as SVG.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace partita {

struct ChartPoint {
  double x = 0, y = 0;  // a `y` that is not finite interrupts the line
};

struct ChartLine {
  enum Look { plain, faint, dashed, dots, marks };  // `dots` are joined, `marks` are not

  std::string name;  // "" leaves the line out of the legend
  int color = 0;     // 0 to 5
  Look look = plain;
  std::vector<ChartPoint> points;  // ascending in x
};

struct LineChart {
  std::string label;                                         // read out to those who do not see the chart
  std::vector<ChartLine> lines;                              // with a point or more
  std::function<std::string(double)> print;                  // formats values of y
  std::function<std::string(double)> print_tick{};           // formats labels of the axis; empty: as `print`
  bool is_binary = false;                                    // labels are round in KiB, MiB and so on
  double largest = std::numeric_limits<double>::infinity();  // bound of the axis of y, such as 1 for a share
  bool is_log = false;               // y by its logarithm; ignored unless all values are above 0
  bool is_log_x = false;             // x by its logarithm; all x are above 0
  bool from_zero = false;            // y begins at 0
  double width = 540, height = 210;  // in pixels of the SVG
  std::string x_name = "step";       // "step 12" in the readout
  std::vector<double> bad{};         // x of values that are not finite; at most 200 are drawn
  std::vector<double> restarts{};    // x where a training was resumed; at most 200 are drawn
};

/// Returns the chart with its legend, if a line has a name. It has at most a few thousand points, whatever the length
/// of the lines: of each column of pixels the extremes are kept. Texts are escaped. Attributes hold values for
/// kChartScript, which shows those under the pointer. "" without a finite value.
std::string line_chart(const LineChart& chart);

/// Returns at most about 4 points per column of the range of x: the first, the lowest, the highest and the last of a
/// column, and one that is not finite.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, int columns);

/// Returns the running mean of the finite values, in which a value counts half after `half_life` later ones. Points
/// that are not finite are left out.
std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points, double half_life);

/// Script element, at the end of a page, that shows the values of charts under the pointer. Pages are complete without
/// it.
extern const char* const kChartScript;

}  // namespace partita
