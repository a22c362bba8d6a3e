#include "cli/rows.h"

#include <iostream>

namespace partita {

DatasetPtr open_rows(const ZooJob& job, Split split, std::string_view use) {
  const DatasetPtr rows = job.rows(split);
  if (job.is_generated() && !job.config().console.quiet) {
    const RowFormat& format = job.format();
    const std::string kind = format.tokens > 0
                                 ? fmt::format("texts, {} letters", format.tokens)
                                 : fmt::format("images, {}x{}", format.image.shape[0], format.image.shape[1]);
    std::cout << fmt::format("no data given: {} on a generated stand-in ({} {})\n", use, rows->size(), kind);
  }
  return rows;
}

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
  if (!all && metrics.classified) return;
  out << fmt::format("test loss {:.4f}\n", metrics.loss);
  for (const auto& [name, mean] : metrics.others) out << fmt::format("test {} {:.4f}\n", name, mean);
}

}  // namespace partita
