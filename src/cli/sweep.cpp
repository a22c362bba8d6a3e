// partita sweep: trainings that differ in some keys of their configuration.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/place.h"
#include "training/sweep/run_sweep.h"
#include "training/sweep/sweep_page.h"

namespace partita {
namespace {

struct SweepFlags {
  std::string file, out;
  bool list = false, retry = false;
};

void list_trials(const Sweep& sweep) {
  for (const KeyValues& trial : trials_of(sweep)) std::cout << printable(print_values(trial)) << "\n";
}

void run_sweep_command(const SweepFlags& flags) {
  const Sweep sweep = read_sweep(flags.file);
  if (flags.list) return list_trials(sweep);
  if (flags.out.empty()) throw InvalidArgument("[--out] no folder for the trials, expected --out DIR, or --list");
  if (this_place().ranks() > 1) {
    throw InvalidArgument("[sweep] a sweep starts its trials itself, got {} processes, expected one",
                          this_place().ranks());
  }
  const SignalGuard guard;
  const std::vector<TrialResult> results =
      run_sweep(sweep, {.folder = flags.out,
                        .program = "/proc/self/exe",
                        .retries_failed = flags.retry,
                        .tell = [](const std::string& line) { std::cout << printable_lines(line) << std::flush; },
                        .warn = [](const std::string& text) { warn(text); },
                        .signals = &SignalGuard::requests});
  const std::string page = flags.out + "/sweep.html";
  save_text(page, sweep_page(sweep, results));
  std::cout << "\n" << printable_lines(print_sweep(sweep, results)) << "page " << page << "\n";
}

}  // namespace

void add_sweep(CLI::App& app) {
  const auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = add_command(app, "sweep", "Train with many values of some keys, one training after another",
                                  flags, run_sweep_command);
  command->add_option("FILE", flags->file, "A TOML file with a model, [fixed] keys and [keys] that vary")->required();
  command->add_option("--out", flags->out, "Folder of the trials, their results (trials.jsonl) and a page (sweep.html)")
      ->type_name("DIR");
  command->add_flag("--list", flags->list, "Print the trials and run none");
  command->add_flag("--retry-failed", flags->retry, "Run failed trials of an earlier call again");
  command->footer("Example: partita sweep sweep.toml --out sweeps/first");
}

}  // namespace partita
