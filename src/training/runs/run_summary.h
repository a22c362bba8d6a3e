#pragma once
// Numbers and remarks that sum up a recorded training.

#include "training/runs/run_record.h"

namespace partita {

struct RunSummary {
  int64_t steps = 0, last_step = 0;       // logged steps, number of the last one
  double loss = kUnknown;                 // mean of the finite losses of the last kLastSteps steps
  double best_loss = kUnknown;            // lowest finite loss of a step
  int64_t best_step = 0;                  // its step
  double validation_loss = kUnknown;      // lowest
  double validation_accuracy = kUnknown;  // highest
  double step_seconds = kUnknown, rate = kUnknown, exposed = kUnknown;  // medians over the steps
  double total_seconds = 0;                                             // sum over the steps
  double memory = kUnknown;                                             // largest resident bytes of the first process
  int64_t not_finite = 0, skipped = 0, first_not_finite = 0;            // numbers of steps; the first of them
  std::vector<double> busy{};               // mean seconds of a step in which each rank computed
  std::vector<int64_t> not_finite_steps{};  // at most 10,000
};

inline constexpr size_t kLastSteps = 10;

RunSummary summary_of(const RunRecord& run);

/// Returns sentences on what a reader of the run should know: how it ended, losses that were not finite, resumed parts,
/// a slow start, unequal ranks, exposed communication, memory, a wrong prediction, and the recorded warnings and notes.
std::vector<std::string> remarks_on(const RunRecord& run, const RunSummary& summary);

/// Returns "finished", "ended early", "unfinished", or "" for a log alone.
std::string state_of(const RunRecord& run);

/// Returns the median of the values that are not NaN; NaN if there are none.
double median(std::vector<double> values);

/// Formats a value with four digits or, if it is large, as a whole number; "-" for NaN. Counts have separators:
/// "12,345".
std::string print_value(double value);
std::string print_count(int64_t count);
/// Formats seconds or bytes; "-" for NaN.
std::string print_span(double seconds);
std::string print_size(double bytes);
/// Formats a long duration: "2 h 5 min", "3 min 20 s", "12.3 s".
std::string print_duration(double seconds);

}  // namespace partita
