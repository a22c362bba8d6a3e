#include "cli/rows.h"

#include <fmt/format.h>

namespace partita {

void print_result(std::ostream& out, const Metrics& metrics, ResultLines lines, bool with_top) {
  const bool all = lines == ResultLines::all;
  if (metrics.classified) {
    out << fmt::format("test accuracy {:.4f}", metrics.accuracy());
    if (all) out << fmt::format(" ({} of {})", metrics.correct, metrics.samples);
    out << "\n";
    if (with_top) {
      out << fmt::format("test top-{} accuracy {:.4f} ({} of {})\n", metrics.top, metrics.top_accuracy(),
                         metrics.correct_in_top, metrics.samples);
    }
  }
  for (const Measured& one : metrics.measured) out << fmt::format("test {} {:.4f}\n", one.name, one.value);
  if (!all && metrics.classified) return;
  out << fmt::format("test loss {:.4f}\n", metrics.loss);
  for (const auto& [name, mean] : metrics.others) out << fmt::format("test {} {:.4f}\n", name, mean);
}

}  // namespace partita
