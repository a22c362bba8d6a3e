#include "ir/orders/draw.h"

#include <algorithm>
#include <cmath>

#include "ir/orders/simulate.h"

namespace partita {
namespace {

constexpr double kMaxCells = 16;  // in the longest slot

/// Returns the length of a cell in the unit of the times: that of the shortest slot that takes time, but at least that
/// of the longest divided by kMaxCells; 0 if no slot takes time.
double cell_of(const Simulation& simulation) {
  double shortest = simulation.seconds, longest = 0;
  for (const TimedSlot& timed : simulation.slots) {
    const double seconds = timed.end - timed.start;
    if (seconds > 0) shortest = std::min(shortest, seconds);
    longest = std::max(longest, seconds);
  }
  return std::max(shortest, longest / kMaxCells);
}

/// The cells of all rows that are shown: all, or the first and the last ones.
struct Window {
  int64_t cells = 0;  // in a row
  int64_t first = 0;  // cells shown before the gap
  int64_t last = 0;   // cells shown after the gap
  bool has_gap() const { return first + last < cells; }
  int64_t count() const { return first + last; }
  /// Returns the cell that is shown at `place`, from 0 to count() - 1.
  int64_t at(int64_t place) const { return place < first ? place : cells - count() + place; }
};

Window window_of(int64_t cells, int64_t most) {
  if (cells <= most) return {cells, cells, 0};
  return {cells, (most + 1) / 2, most / 2};
}

/// One group's slots.
class Row {
 public:
  Row(const Window& window, size_t width, bool with_stage)
      : window_(window), width_(width), with_stage_(with_stage), slots_(window.count()), is_filled_(window.count()) {}

  void add(const Slot& slot, int64_t begin, int64_t end) {
    fill(slot, begin, std::min(end, window_.first));
    if (window_.has_gap()) fill(slot, std::max(begin, window_.cells - window_.last), end);
  }

  std::string text() const {
    std::string text;
    for (int64_t place = 0; place < window_.count(); ++place) {
      if (window_.has_gap() && place == window_.first) text += "~ ";
      const bool goes_on = is_same(place, place - 1), is_continued = is_same(place, place + 1);
      std::string cell = !is_filled_[place] ? ".." : goes_on ? "" : short_name(slots_[place], with_stage_);
      cell.resize(width_, is_filled_[place] && (goes_on || is_continued) ? '-' : ' ');
      text += cell + (is_continued ? '-' : ' ');
    }
    return text;
  }

 private:
  void fill(const Slot& slot, int64_t begin, int64_t end) {
    const int64_t shift = begin < window_.first ? 0 : window_.cells - window_.count();
    for (int64_t cell = begin; cell < end; ++cell) {
      slots_[cell - shift] = slot;
      is_filled_[cell - shift] = true;
    }
  }

  /// Whether two neighbouring places show one slot, with no gap between them.
  bool is_same(int64_t a, int64_t b) const {
    if (std::min(a, b) < 0 || std::max(a, b) >= window_.count()) return false;
    return is_filled_[a] && is_filled_[b] && slots_[a] == slots_[b] && std::abs(window_.at(a) - window_.at(b)) == 1;
  }

  Window window_;
  size_t width_;
  bool with_stage_;
  std::vector<Slot> slots_;
  std::vector<bool> is_filled_;
};

}  // namespace

std::string draw(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies,
                 int64_t columns, std::string_view unit) {
  const Simulation simulation = simulate(sequence, shape, dependencies);
  const bool with_stage = shape.group_count() < shape.stages();
  size_t width = 2;  // width of the dots
  for (const TimedSlot& timed : simulation.slots) width = std::max(width, short_name(timed.slot, with_stage).size());
  const double cell = cell_of(simulation);
  const auto cell_at = [&](double seconds) { return cell > 0 ? std::llround(seconds / cell) : 0; };
  const int64_t most = std::max<int64_t>(2, columns / static_cast<int64_t>(width + 1));
  const Window window = window_of(cell_at(simulation.seconds), most);

  std::vector<Row> rows(shape.group_count(), Row(window, width, with_stage));
  for (const TimedSlot& timed : simulation.slots) {
    rows[shape.groups[timed.slot.stage]].add(timed.slot, cell_at(timed.start), cell_at(timed.end));
  }
  std::string text;
  const size_t digits = fmt::format("{}", rows.size() - 1).size();
  for (size_t group = 0; group < rows.size(); ++group) {
    text += fmt::format("group {:<{}} {} bubble {:.1f} %\n", fmt::format("{}:", group), digits + 1, rows[group].text(),
                        100 * simulation.bubble(static_cast<int>(group)));
  }
  return text + fmt::format("bubble {:.1f} % of {:.4g} {}\n", 100 * simulation.bubble(), simulation.seconds, unit);
}

}  // namespace partita
