#pragma once
// A recorded training, read from its folder (training/report/run_folder.h) or from a log alone.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace partita {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A line of the log. Numbers that the log does not have are NaN, and so is a loss that was not finite.
struct LoggedStep {
  int64_t step = 0, epoch = 0;
  double loss = kUnknown, learning_rate = kUnknown, seconds = kUnknown, rate = kUnknown;  // `rate`: rows a second
  double exposed = kUnknown, loss_scale = kUnknown, memory = kUnknown;  // seconds, factor, resident bytes
  bool skipped = false;
};

struct LoggedValidation {
  int64_t step = 0, epoch = 0;
  double loss = kUnknown, accuracy = kUnknown;
};

/// Seconds in which each rank computed, in the `steps` steps up to `step`.
struct LoggedTimes {
  int64_t step = 0, steps = 0;
  std::vector<double> busy;
};

struct LoggedWarning {
  int64_t step = 0;
  std::string message;
};

struct LoggedCheckpoint {
  int64_t step = 0;
  std::string path, time;
};

/// A predicted step, in seconds.
struct LoggedPrediction {
  std::string cluster;
  double step = kUnknown, compute = kUnknown, exposed = kUnknown, bubble = kUnknown;
};

/// A process that ran the training: the first one, or one that resumed it.
struct LoggedStart {
  std::string time, host, version;
  int64_t first_step = 0;
};

struct RunRecord {
  std::string path, name;         // path that was given; its last part, for captions
  std::vector<LoggedStep> steps;  // ascending; a resumed training replaces the steps that it repeats
  std::vector<LoggedValidation> validations;
  std::string configuration{};                                  // TOML; "" if there is none
  std::vector<std::pair<std::string, std::string>> settings{};  // key and value of each line of it

  // From the events. Empty for a log alone.
  bool has_events = false;
  std::vector<LoggedStart> starts{};
  std::string model{}, device{};
  int64_t ranks = 0, threads = 0, batch = 0, planned_steps = 0, steps_per_epoch = 0;
  double parameters = kUnknown, rank_memory = kUnknown, available_memory = kUnknown;  // count, bytes, bytes
  std::optional<LoggedPrediction> predicted{};
  std::vector<LoggedTimes> times{};
  std::vector<LoggedWarning> warnings{};
  std::vector<LoggedCheckpoint> checkpoints{};
  double test_loss = kUnknown, test_accuracy = kUnknown;
  std::optional<std::string> end_reason{};  // none: the training runs or was killed; "": it took all steps
  double seconds = kUnknown;                // seconds of the last process, at its end

  std::vector<std::string> notes{};  // parts that the reader left out, such as an unfinished last line
};

/// Reads a run: a folder that --run wrote, or a file that --log wrote. An unfinished last line, as a killed training
/// leaves it, is left out and noted. A log in which a step is followed by an earlier one is that of a resumed training.
/// Throws MissingFile if there is no such file, or the folder holds no log; InvalidFile, with the line, for one that is
/// no JSON object of a log, has a value of another kind, or has more than 1 MiB.
RunRecord read_run(const std::string& path);

}  // namespace partita
