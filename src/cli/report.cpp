// partita report: a page of a recorded training; partita compare: several of them next to each other.

#include <filesystem>
#include <iostream>
#include <memory>

#include "base/is_folder.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "runtime/checkpoint/weights.h"
#include "training/runs/compare_runs.h"
#include "training/runs/run_page.h"

namespace partita {
namespace {

struct ReportFlags {
  std::string run, out;
};

struct CompareFlags {
  std::vector<std::string> runs;
  std::string out;
};

void run_report(const ReportFlags& flags) {
  const std::string page = !flags.out.empty()     ? flags.out
                           : is_folder(flags.run) ? (std::filesystem::path(flags.run) / "report.html").string()
                                                  : flags.run + ".html";
  const RunRecord run = read_run(flags.run);
  require_outputs({{"--out", page}}, {{"RUN", flags.run}});
  save_text(page, run_page(run));
  std::cout << printable_lines(print_run(run)) << "page                 " << page << "\n";
}

void compare_recorded(const CompareFlags& flags) {
  if (flags.runs.size() < 2 || flags.runs.size() > kMaxCompared) {
    throw InvalidArgument("[compare] bad number of runs, got {}, expected 2 to {}", flags.runs.size(), kMaxCompared);
  }
  std::vector<FlagFile> read;
  for (const std::string& run : flags.runs) read.push_back({"RUN", run});
  std::vector<RunRecord> runs;
  for (const std::string& run : flags.runs) runs.push_back(read_run(run));
  require_outputs({{"--out", flags.out}}, read);
  name_apart(runs);
  if (!flags.out.empty()) save_text(flags.out, comparison_page(runs));
  std::cout << printable_lines(print_comparison(runs));
}

}  // namespace

void add_report(CLI::App& app) {
  const auto flags = std::make_shared<ReportFlags>();
  CLI::App* command =
      add_command(app, "report", "Write a page with the curves of a recorded training", flags, run_report);
  command->add_option("RUN", flags->run, "A folder that train --run wrote, or a file of train --log")->required();
  command->add_option("--out", flags->out, "The HTML page; if not given: report.html in the folder, or LOG.html")
      ->type_name("FILE");
  command->footer("Example: partita report runs/first");
}

void add_compare(CLI::App& app) {
  const auto flags = std::make_shared<CompareFlags>();
  CLI::App* command =
      add_command(app, "compare", "Show recorded trainings next to each other", flags, compare_recorded);
  command->add_option("RUN", flags->runs, "Two runs or more, each a folder of train --run or a file of train --log")
      ->required();
  command->add_option("--out", flags->out, "Write an HTML page with their curves over each other")->type_name("FILE");
  command->footer("Example: partita compare runs/first runs/second --out both.html");
}

}  // namespace partita
