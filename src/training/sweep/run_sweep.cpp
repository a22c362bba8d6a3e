#include "training/sweep/run_sweep.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/checksum.h"
#include "base/error.h"
#include "job/toml.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/owner_lock.h"
#include "training/runs/run_summary.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

using SweepClock = std::chrono::steady_clock;

constexpr std::string_view kErrorLine = "partita: error: ";

/// How a process ended.
struct ChildEnd {
  int exit_code = 0;  // 128 + the number of a signal that ended it
  int asked_by = 0;   // signal that asked this process to end during the trial; 0: none
};

/// Runs a command with its output in a file, in a process group of its own, so that Ctrl-C reaches it through this
/// process only. Throws RuntimeFailure if it cannot be started.
ChildEnd run_child(const std::vector<std::string>& command, const std::string& output,
                   const std::function<SignalRequests()>& signals) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  constexpr int kMode = 0666;
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, words[0], &files, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    throw RuntimeFailure(ExitCode::out_of_memory, "[sweep] cannot start a trial: {}", std::strerror(failure));
  }
  ChildEnd end;
  int status = 0;
  constexpr std::chrono::milliseconds kPause{5};
  while (::waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(kPause);
    if (end.asked_by != 0 || !signals || signals().stop == 0) continue;
    end.asked_by = signals().stop;
    ::kill(child, end.asked_by);
  }
  end.exit_code = WIFSIGNALED(status) ? kSignalExit + WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

/// Returns the last error in the output of a trial, without its prefix; a sentence on the exit code if it has none.
std::string error_in(const std::string& output, int exit_code) {
  std::ifstream file(output);
  std::string error;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kErrorLine)) error = line.substr(kErrorLine.size());
  }
  return error.empty() ? fmt::format("the training ended with exit code {}", exit_code) : error;
}

class SweepRunner {
 public:
  SweepRunner(const Sweep& sweep, const SweepOptions& options)
      : sweep_(sweep),
        options_(options),
        shared_(shared_assignments()),
        lock_(made_folder(), /*waits=*/false, options.warn),
        file_(options.folder + "/trials.jsonl", fingerprint()) {}

  std::vector<TrialResult> run() {
    const std::vector<KeyValues> trials = trials_of(sweep_);
    const auto is_known = [&](const KeyValues& trial) {
      const TrialResult* result = file_.find(trial);
      return result != nullptr && !(result->failed && options_.retries_failed);
    };
    const auto known = std::ranges::count_if(trials, is_known);
    if (known > 0) tell(fmt::format("{} of {} trials are finished already", known, trials.size()));
    for (size_t i = 0; i < trials.size(); ++i) {
      if (is_known(trials[i])) continue;
      const TrialResult result = run_trial(trials[i]);
      tell(fmt::format("trial {} of {}: {}: {} ({})", i + 1, trials.size(), print_values(trials[i]),
                       result.failed
                           ? "failed: " + result.error
                           : fmt::format("{} {}", name_of(sweep_.metric), print_value(result.number(sweep_.metric))),
                       print_duration(result.seconds)));
      file_.add(result);
    }
    std::vector<TrialResult> results;
    for (const KeyValues& trial : trials) {
      results.push_back(*file_.find(trial));
      results.back().values = trial;
    }
    return results;
  }

 private:
  void tell(const std::string& line) const {
    if (options_.tell) options_.tell(line + "\n");
  }

  OwnedPath made_folder() const {
    std::error_code failure;
    std::filesystem::create_directories(options_.folder, failure);
    if (failure) {
      throw RuntimeFailure(ExitCode::cannot_write, "[sweep] cannot write {}: {}", options_.folder, failure.message());
    }
    return owned_folder("sweep", options_.folder, "sweep");
  }

  /// Returns what all trials share: the base configuration, the model, and [fixed]. Later ones win.
  std::vector<Assignment> shared_assignments() const {
    std::vector<Assignment> all;
    if (!sweep_.config.empty()) all = read_config(sweep_.config);
    if (!sweep_.model.empty()) all.push_back({&find_option("model"), sweep_.path, {sweep_.model}});
    const bool validates =
        sweep_.metric == SweepMetric::validation_loss || sweep_.metric == SweepMetric::validation_accuracy;
    if (validates) all.push_back({&find_option("training.validate"), sweep_.path, {"true"}});
    for (const auto& [key, texts] : sweep_.fixed) all.push_back({&find_option(key), sweep_.path + ": " + key, texts});
    return all;
  }

  std::string fingerprint() const {
    std::string text;
    for (const Assignment& one : shared_)
      text += fmt::format("{} = {}\n", one.option->key(), fmt::join(one.texts, ", "));
    return checksum_of_text(text);
  }

  /// Returns the whole configuration of a trial as TOML. Throws InvalidArgument for a value that does not fit others.
  std::string configuration_of(const KeyValues& trial) const {
    std::vector<Assignment> all = shared_;
    for (const auto& [key, value] : trial) all.push_back({&find_option(key), key, {value}});
    std::string model;
    for (const Assignment& one : all) {
      if (one.option->key() == "model") model = one.texts.at(0);
    }
    std::erase_if(all, [](const Assignment& one) { return one.option->key() == "model"; });
    if (model.empty()) throw InvalidArgument("[sweep] no model, got none in {}, expected model = \"..\"", sweep_.path);
    return print(configured(model, all));
  }

  /// Returns the name of a folder that no trial has used.
  std::string new_run() const {
    std::error_code unknown;
    for (size_t number = file_.results().size() + 1;; ++number) {
      const std::string name = fmt::format("trial_{:04}", number);
      if (!std::filesystem::exists(options_.folder + "/" + name, unknown)) return name;
    }
  }

  TrialResult run_trial(const KeyValues& trial) const {
    TrialResult result{.values = trial, .run = new_run()};
    const auto begin = SweepClock::now();
    const std::string folder = options_.folder + "/" + result.run, config = folder + "/trial.toml",
                      output = folder + "/output.txt";
    try {
      std::error_code failure;
      std::filesystem::create_directory(folder, failure);
      save_text(config, configuration_of(trial));
      const ChildEnd end = run_child({options_.program, "train", "--config", config, "--run", folder, "--quiet"},
                                     output, options_.signals);
      if (end.asked_by != 0) {
        throw RuntimeFailure(static_cast<ExitCode>(kSignalExit + end.asked_by),
                             "[sweep] interrupted, got {}, expected the sweep to run to its end; the same command goes "
                             "on with it",
                             signal_name(end.asked_by));
      }
      result.exit_code = end.exit_code;
      if (end.exit_code != 0) result.error = error_in(output, end.exit_code);
      if (end.exit_code == 0) result.numbers = numbers_of(read_run(folder));
    } catch (const InvalidArgument& error) {
      result.exit_code = static_cast<int>(error.code());
      result.error = error.what();
    }
    result.failed = result.exit_code != 0;
    result.seconds = std::chrono::duration<double>(SweepClock::now() - begin).count();
    return result;
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  const std::vector<Assignment> shared_;
  const OwnerLock lock_;
  TrialFile file_;
};

}  // namespace

std::string print_values(const KeyValues& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key.substr(key.find('.') + 1), value);
  }
  return text;
}

std::vector<TrialResult> run_sweep(const Sweep& sweep, const SweepOptions& options) {
  return SweepRunner(sweep, options).run();
}

}  // namespace partita
