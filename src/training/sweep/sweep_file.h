#pragma once
// The description of a sweep: trainings that differ in some keys of their configuration.
//
//   model = "mlp:hidden=32"          # or a key that is varied
//   config = "base.toml"             # optional: a configuration, next to this file
//   search = "grid"                  # or "random", with trials = 20 and seed = 1
//   metric = "validation_loss"       # what the best trial has least (of accuracies and rates, most) of
//
//   [fixed]
//   training.steps = 200
//
//   [keys]
//   training.batch = [16, 32, 64]
//   training.seed = { seeds = 3 }                                # 1, 2, 3
//   schedule.learning_rate = { log_range = [1e-4, 1e-1], count = 4 }
//   optimizer.weight_decay = { range = [0.0, 0.1], count = 3 }   # whole numbers if both ends are
//
// A grid has every combination of the values; a range then needs a count. A random search draws each trial by itself,
// from ranges or values.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"

namespace partita {

enum class SweepSearch { grid, random };
constexpr auto value_names(SweepSearch) { return names("grid", "random"); }

/// A number of a run by which trials are compared.
enum class SweepMetric {
  loss,
  best_loss,
  validation_loss,
  validation_accuracy,
  test_loss,
  test_accuracy,
  step_seconds,
  rows_per_second
};
constexpr auto value_names(SweepMetric) {
  return names("loss", "best_loss", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy",
               "step_seconds", "rows_per_second");
}
/// Whether a larger value is a better one.
bool is_better_if_larger(SweepMetric metric);

inline constexpr int64_t kMaxTrials = 10'000;

struct SweepRange {
  double low = 0, high = 0;
  bool is_log = false, is_whole = false;
  int64_t count = 0;  // points of a grid, including both ends; 0: none is given
};

/// A key that is varied: by values, or over a range.
struct SweepKey {
  std::string key;
  std::vector<std::string> values{};
  std::optional<SweepRange> range{};
};

/// Values of keys, as texts.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct Sweep {
  std::string path;
  std::string model{}, config{};  // "" if there is none
  SweepSearch search = SweepSearch::grid;
  SweepMetric metric = SweepMetric::loss;
  int64_t trials = 0;  // number of trials of a random search
  uint64_t seed = 1;
  std::vector<std::pair<std::string, std::vector<std::string>>> fixed{};
  std::vector<SweepKey> keys{};
};

/// Parses the description. `path` is used in messages and to find the base configuration. Throws InvalidFile, with the
/// line, if the text is not TOML, for an unknown key (with the nearest one), a value of another kind, a value that the
/// key does not take, a bad range, no key to vary, and more than kMaxTrials trials.
Sweep parse_sweep(std::string_view text, const std::string& path);
/// Reads a file and parses it. Throws MissingFile if it cannot be read, InvalidFile if it is larger than 1 MiB, and as
/// `parse_sweep` does.
Sweep read_sweep(const std::string& path);

/// Returns the trials in their order. Those of a random search depend on the seed and their number alone, so more
/// trials begin with the same ones; equal trials are left out.
std::vector<KeyValues> trials_of(const Sweep& sweep);

}  // namespace partita
