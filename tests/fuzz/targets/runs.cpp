// Recorded trainings, and sweeps with their results.

#include "base/page/test_page.h"
#include "fuzz/files.h"
#include "fuzz/target.h"
#include "training/runs/compare_runs.h"
#include "training/runs/run_page.h"
#include "training/runs/test_runs.h"
#include "training/sweep/sweep_page.h"

namespace partita {
namespace {

void require_page(const std::string& html) {
  const std::string fault = fault_of_page(html);
  require(fault.empty(), "a page that is not well-formed: " + fault);
}

void require_reports(const RunRecord& run) {
  for (size_t i = 1; i < run.steps.size(); ++i)
    require(run.steps[i - 1].step < run.steps[i].step, "steps out of order");
  require_page(run_page(run));
  print_run(run);
  std::vector<RunRecord> twice{run, run};
  name_apart(twice);
  require_page(comparison_page(twice));
}

void read_log(const std::string& input) { require_reports(read_run(input_folder().write("log", input).string())); }

/// Reads the log, the events and the configuration of a run.
void read_run_folder(const std::string& input) {
  const std::vector<std::string> parts = split_parts(input, 3);
  const char* const names[] = {"run/log.jsonl", "run/events.jsonl", "run/configuration.toml"};
  for (size_t i = 0; i < 3; ++i) input_folder().write(names[i], parts[i]);
  require_reports(read_run((input_folder().path() / "run").string()));
}

std::string some_events() {
  return std::string(kBeginEvent) + R"({"event":"ranks","step":1,"steps":1,"busy_seconds":[0.001,0.0015]})"
                                    "\n"
                                    R"({"event":"warning","step":3,"message":"careful"})"
                                    "\n"
                                    R"({"event":"checkpoint","time":"2026","step":20,"path":"a/step_20"})"
                                    "\n"
                                    R"({"event":"end","step":40,"seconds":1.5,"reason":""})"
                                    "\n";
}

void read_sweep_text(const std::string& input) {
  const Sweep sweep = parse_sweep(input, "sweep.toml");
  const std::vector<KeyValues> trials = trials_of(sweep);
  require(!trials.empty() && trials.size() <= static_cast<size_t>(kMaxTrials), "no trial, or too many");
  for (const KeyValues& trial : trials) require(trial.size() == sweep.keys.size(), "a trial without a key");
}

void read_trials(const std::string& input) {
  const std::string path = input_folder().write("trials.jsonl", input).string();
  const std::vector<TrialResult> results = TrialFile(path, "abc").results();
  for (const TrialResult& one : results) print_trial(one);
  require(ranked(results, SweepMetric::loss).size() == results.size(), "a result without a rank");
}

}  // namespace

std::vector<FuzzTarget> runs_targets() {
  return {
      {.name = "run_log",
       .seeds = [] { return std::vector{log_text(12)}; },
       .read = read_log,
       .words = {"\"validation_loss\":0.5", "null", ":nan", "1e300", "\"memory_bytes\":1e9", "{\"step\":"}},
      {.name = "run_folder",
       .seeds =
           [] {
             return std::vector{joined({log_text(3), some_events(), "[training]\nbatch = 32\n"})};
           },
       .read = read_run_folder,
       .words = {"\"event\":\"begin\"", "\"first_step\":2", "\"busy_seconds\":[]", "null", "1e300", "<b>&\""}},
      {.name = "sweep",
       .seeds =
           [] {
             return std::vector<std::string>{
                 "model = \"mlp:hidden=8\"\nmetric = \"loss\"\n[fixed]\ntraining.steps = 4\n[keys]\ntraining.batch = "
                 "[16, 32]\nschedule.learning_rate = { log_range = [1e-3, 1.0], count = 4 }\ntraining.seed = { seeds "
                 "= 3 }\n",
                 "model = \"mlp\"\nsearch = \"random\"\ntrials = 9\n[keys]\noptimizer.weight_decay = { range = [0.0, "
                 "0.1] }\n"};
           },
       .read = read_sweep_text,
       .words = {"[keys]\n", "values = ", "range = [1, 2]", "count = 1000", "inf", "nan", "[[keys]]\n"}},
      {.name = "trials",
       .seeds =
           [] {
             const TrialResult one{.values = {{"training.batch", "16"}}, .run = "trial_0001", .numbers = {{"loss", 1}}};
             return std::vector<std::string>{"{\"sweep\":\"abc\"}\n" + print_trial(one) + print_trial(one)};
           },
       .read = read_trials,
       .words = {"\"values\":{}", "null", "\"status\":\"failed\"", "1e300"}}};
}

}  // namespace partita
