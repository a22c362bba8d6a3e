#include "cli/rows.h"

#include <iostream>

#include "cli/options.h"
#include "data/readers/cifar10.h"

namespace partita {

namespace {

void warn_of_missing_batches(const DataSource& source, int64_t rows) {
  if (source.kind != DataKind::cifar10) return;
  const int batches = count_cifar10_batches(source.paths[0]);
  if (batches == kCifar10Batches) return;
  warn(fmt::format("[cifar10] {} of {} batches in '{}': training on {} rows", batches, kCifar10Batches, source.paths[0],
                   rows));
}

}  // namespace

DatasetPtr open_rows(const ZooJob& job, Split split, std::string_view use) {
  const DatasetPtr rows = job.rows(split);
  if (job.is_generated() && !job.config().console.quiet) {
    const RowFormat& format = job.format();
    const std::string kind = format.is_text() ? fmt::format("texts, {} letters", format.text.tokens)
                             : format.is_records()
                                 ? fmt::format("records, {} ids", format.records.ids)
                                 : fmt::format("images, {}x{}", format.image.shape[0], format.image.shape[1]);
    std::cout << fmt::format("no data given: {} on a generated stand-in ({} {})\n", use, rows->size(), kind);
  }
  if (split == Split::train) warn_of_missing_batches(job.source(), rows->size());
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
