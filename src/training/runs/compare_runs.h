#pragma once
// Several recorded trainings next to each other.

#include "training/runs/run_record.h"

namespace partita {

inline constexpr size_t kMaxCompared = 6;  // each has a colour of its own

/// Names the runs apart: by the last parts of their paths, as many as are needed.
void name_apart(std::vector<RunRecord>& runs);

/// A row of a table: a caption and a text per run.
struct ComparedRow {
  std::string caption;
  std::vector<std::string> values;
};

/// Returns the numbers of the runs: steps, losses, validation, test, speed, memory. A row that no run has is left out.
std::vector<ComparedRow> compared_numbers(const std::vector<RunRecord>& runs);
/// Returns the keys of the configuration whose values differ, without those of files and the console. "-" is the value
/// of a run that does not set the key or has no configuration.
std::vector<ComparedRow> compared_settings(const std::vector<RunRecord>& runs);

/// Prints both tables.
std::string print_comparison(const std::vector<RunRecord>& runs);

/// Formats a well-formed HTML page with both tables and the curves of the runs over each other. The names of the runs
/// differ.
std::string comparison_page(const std::vector<RunRecord>& runs);

}  // namespace partita
