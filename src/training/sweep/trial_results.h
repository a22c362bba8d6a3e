#pragma once
// Results of the trials of a sweep: a file of JSON lines that grows with each trial.

#include <map>

#include "training/runs/run_record.h"
#include "training/sweep/sweep_file.h"

namespace partita {

struct TrialResult {
  KeyValues values;
  std::string run;  // folder of its run, within that of the sweep
  bool failed = false;
  int exit_code = 0;
  std::string error{};  // message of a failed trial
  double seconds = 0;
  std::map<std::string, double> numbers{};  // by the names of SweepMetric; those that the run has
  /// Returns a number; NaN if the run does not have it.
  double number(SweepMetric metric) const;
};

/// Returns the numbers of a run by the names of SweepMetric.
std::map<std::string, double> numbers_of(const RunRecord& run);

/// Returns a result as JSON on one line, with an end.
std::string print_trial(const TrialResult& result);

/// The file of results of a sweep. Its first line has a fingerprint of what all trials share.
class TrialFile {
 public:
  /// Reads the results so far, and drops an unfinished last line. A missing file is begun. Throws InvalidFile, with the
  /// line, for one that is no result; InvalidArgument if the trials are of another sweep; RuntimeFailure(cannot_write)
  /// if the file cannot be written.
  TrialFile(std::string path, const std::string& fingerprint);
  const std::vector<TrialResult>& results() const { return results_; }
  /// Returns the last result of these values; null if there is none.
  const TrialResult* find(const KeyValues& values) const;
  /// Appends a result, in place of an earlier one of the same values. Throws RuntimeFailure(cannot_write).
  void add(TrialResult result);

 private:
  void read(const std::string& text, const std::string& fingerprint);
  void append(const std::string& line) const;
  void keep(TrialResult result);

  std::string path_;
  std::vector<TrialResult> results_;
};

/// Returns the numbers of the trials from the best to the worst by the metric. Those that lack it come last.
std::vector<size_t> ranked(const std::vector<TrialResult>& results, SweepMetric metric);

}  // namespace partita
