#include "planner/pricing/layers/quantities.h"

#include <fmt/format.h>

namespace partita {

std::string print_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.1f} us", seconds * 1e6);
}

std::string print_memory(double bytes) {
  constexpr double kKiB = 1 << 10, kMiB = 1 << 20;
  if (bytes < kKiB) return fmt::format("{:.0f} B", bytes);
  if (bytes < kMiB) return fmt::format("{:.1f} KiB", bytes / kKiB);
  return bytes < kGiB ? fmt::format("{:.1f} MiB", bytes / kMiB) : fmt::format("{:.2f} GiB", bytes / kGiB);
}

}  // namespace partita
