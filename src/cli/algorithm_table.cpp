#include "cli/algorithm_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/free_memory.h"

namespace partita {
namespace {

constexpr Collective kShown[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                                 Collective::all_to_all, Collective::broadcast,      Collective::barrier};

std::vector<CollectiveAlgorithm> by_bytes(Collective collective, DType dtype, const RankSpread& ranks) {
  const AlgorithmChoice choice = choose_algorithm(collective, dtype, ranks);
  std::vector<CollectiveAlgorithm> algorithms;
  for (const int64_t bytes : kTableBytes) algorithms.push_back(choice.of(static_cast<double>(bytes)));
  return algorithms;
}

void add_rows(std::vector<AlgorithmRow>& rows, const std::string& name, const RankSpread& ranks) {
  for (const Collective collective : kShown) {
    rows.push_back({name, collective, DType::f32, by_bytes(collective, DType::f32, ranks)});
    AlgorithmRow half{name, collective, DType::bf16, by_bytes(collective, DType::bf16, ranks)};
    if (half.algorithms != rows.back().algorithms) rows.push_back(std::move(half));
  }
}

/// The collectives that the same algorithms run, in one line of the table.
struct TableLine {
  const AlgorithmRow* first = nullptr;
  std::vector<std::string> collectives{};

  bool takes(const AlgorithmRow& row) const { return first->ranks == row.ranks && first->algorithms == row.algorithms; }
};

std::string named(const AlgorithmRow& row) {
  return fmt::format("{}{}", name_of(row.collective), row.dtype == DType::f32 ? "" : " of 16-bit floats");
}

}  // namespace

std::vector<AlgorithmRow> algorithm_table(int cores) {
  const int ranks = std::max(2, cores);
  std::vector<AlgorithmRow> rows;
  add_rows(rows, fmt::format("{} threads", ranks), spread_of_threads(ranks, cores));
  add_rows(rows, fmt::format("{} processes", ranks), {.ranks = ranks, .min_per_host = ranks, .max_per_host = ranks});
  add_rows(rows, fmt::format("2 hosts of {} processes", ranks),
           {.ranks = 2 * ranks, .hosts = 2, .min_per_host = ranks, .max_per_host = ranks});
  return rows;
}

std::string print_algorithm_table(const std::vector<AlgorithmRow>& rows, size_t width) {
  constexpr size_t kColumn = 15;
  std::vector<TableLine> lines;
  for (const AlgorithmRow& row : rows) {
    const auto line = std::find_if(lines.begin(), lines.end(), [&](const TableLine& one) { return one.takes(row); });
    if (line == lines.end()) {
      lines.push_back({&row, {named(row)}});
    } else {
      line->collectives.push_back(named(row));
    }
  }
  std::string text = fmt::format("{:<{}}", "collectives", width);
  for (const int64_t bytes : kTableBytes) text += fmt::format("{:<{}}", print_bytes(bytes), kColumn);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (const TableLine& line : lines) {
    text += fmt::format("{:<{}}", "", width);
    for (const CollectiveAlgorithm one : line.first->algorithms) text += fmt::format("{:<{}}", name_of(one), kColumn);
    text += fmt::format("{}: {}\n", line.first->ranks, fmt::join(line.collectives, ", "));
  }
  for (const AlgorithmInfo& info : runtime_algorithms()) {
    text += fmt::format("{:<{}}{}: {}\n", info.algorithm == runtime_algorithms()[0].algorithm ? "algorithms" : "",
                        width, name_of(info.algorithm), info.meaning);
  }
  return text;
}

}  // namespace partita
