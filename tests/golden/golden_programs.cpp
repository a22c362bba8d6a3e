#include "golden/golden_programs.h"

#include <algorithm>
#include <map>

#include "cli/job_flags.h"
#include "compiler/emit/rank_programs.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "runtime/launch/place.h"
#include "support/matches.h"
#include "support/places.h"
#include "support/program.h"
#include "support/texts/texts.h"
#include "training/configuration.h"

namespace partita {
namespace {

/// The parts of an input and the flags that its first line gives.
class GoldenProgram {
 public:
  explicit GoldenProgram(const std::string& input) {
    const size_t graph = std::min(input.find("partita graph 1\n"), input.size());
    const size_t plan = std::min(input.find("partita plan 1\n"), input.size());
    if (plan < graph) throw InvalidArgument("[golden text] the plan comes before the graph, expected it after");
    words_ = input.substr(0, graph);
    if (words_.find('\n') + 1 < words_.size()) {
      throw InvalidArgument("[golden text] two lines of words, expected one before the graph");
    }
    graph_ = input.substr(graph, plan - graph);
    plan_ = input.substr(plan);
    add_job_flags(app_, flags_, decides_program);
    app_.add_option("--rank", rank_);
    app_.add_flag("--training", training_);
    app_.add_flag("--forward", forward_);
    app_.add_flag("--counts", counts_);
    app_.parse(words_);
  }

  bool has_model() const { return !flags_.model.empty(); }
  const std::string& words() const { return words_; }
  int64_t rank() const { return rank_; }
  bool has_counts() const { return counts_; }
  CollectiveMode collectives() const { return choose_modes(configuration(flags_).ranks).collectives; }

  /// Compiles with one thread and, unless a flag says otherwise, the reference kernels, which are the same on every
  /// processor.
  Program compile_to(Stage last) {
    const Place place{.cores = 1};
    JobConfig config;
    if (has_model()) {
      config = configuration(flags_);
    } else {
      assign(config, assignments_without_model(flags_));
    }
    config.ranks.threads = 1;
    if (!is_given(flags_, "ranks.kernels")) config.ranks.kernels = KernelSet::reference;
    if (has_model()) {
      return ZooJob(config, place).program(forward_ ? Purpose::evaluation : Purpose::training, last);
    }
    return compile_graph(completed(config, place), last);
  }

 private:
  Program compile_graph(const JobConfig& config, Stage last) const {
    CompileOptions options{.ranks = config.ranks.count,
                           .plan = config.plan.options,
                           .annotations = config.plan.annotations,
                           .passes = {.switched_off = config.plan.passes_switched_off},
                           .last = last};
    if (training_) {
      options.training = TrainingOptions{.optimizer = config.optimizer, .recompute = config.plan.recompute};
    }
    if (!plan_.empty()) {
      options.own_plan = [&](const Graph& graph, int64_t) { return parse_plan(plan_, graph, all_ops()); };
    }
    const auto device = make_cpu_device(all_ops(), config.ranks.threads, config.ranks.kernels);
    device->enter_thread();
    return compile(parse_graph(graph_, all_ops()), all_ops(), device->catalog(), options);
  }

  CLI::App app_;
  JobFlags flags_;
  std::string words_, graph_, plan_;
  int64_t rank_ = 0;
  bool training_ = false, forward_ = false, counts_ = false;
};

/// Prints words with their counts, most frequent first, one a line: "  3 tensor<4xf32>".
std::string print_counts(const std::vector<std::string>& words) {
  std::map<std::string, int> counts;
  for (const std::string& word : words) ++counts[word];
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [word, count] : counts) sorted.emplace_back(-count, word);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const auto& [count, word] : sorted) text += fmt::format("  {} {}\n", -count, word);
  return text;
}

/// Returns the parts of a text that match an expression.
std::vector<std::string> parts_of(const std::string& text, const std::string& expression) {
  std::vector<std::string> parts;
  for (const Match& match : matches_of(text, expression)) parts.push_back(match.groups[1]);
  return parts;
}

/// Prints the types of a program's arguments and results, and its operations, each with its count.
std::string summary_of(const std::string& text) {
  const size_t main = text.find("@main("), results = text.find(") -> (", main), body = text.find(" {\n", results);
  const std::string arguments = text.substr(main, results - main);
  const std::string type = "(tensor<[^>]*>)";
  return fmt::format("arguments\n{}results, {} of them in place of an argument\n{}operations\n{}",
                     print_counts(parts_of(arguments, type)), parts_of(arguments, "(tf.aliasing_output)").size(),
                     print_counts(parts_of(text.substr(results, body - results), type)),
                     print_counts(parts_of(text, "= \"?([a-z]+\\.[a-z_]+)")));
}

std::string print_warnings(const Program& program) {
  std::string text;
  for (const std::string& warning : program.warnings) text += fmt::format("warning: {}\n", warning);
  return text;
}

}  // namespace

std::string plan_of_golden(const std::string& input) {
  const Program program = GoldenProgram(input).compile_to(Stage::plan);
  return print_warnings(program) + print_stages(program.pipeline, program.stages, [](const StageProgram& stage) {
           return print(stage.plan, stage.graph, all_ops());
         });
}

std::string partition_of_golden(const std::string& input) {
  GoldenProgram golden(input);
  const Program program = golden.compile_to(Stage::partition);
  return print_warnings(program) + print_rank(program, all_ops(), golden.rank());
}

std::string programs_of_golden(const std::string& input) {
  GoldenProgram golden(input);
  const Program program = golden.compile_to(Stage::schedule);
  const RankPrograms found =
      programs_of_rank(program.pipeline, program.stages, all_ops(), golden.rank(), golden.collectives());
  std::string text = print_warnings(program);
  text += fmt::format("{} programs, {} messages between them\n", found.programs.size(), found.messages);
  for (const RankProgram& one : found.programs) {
    text += fmt::format("\nstage {}, {}, {} to {}: {} ops, run {} times by {} ranks together\n{}", one.stage,
                        name_of(one.section), one.first, one.last, one.ops, one.segments, one.replicas,
                        golden.has_counts() ? summary_of(one.text) : one.text);
  }
  return text;
}

std::string schedule_of_golden(const std::string& input) {
  GoldenProgram golden(input);
  if (golden.has_model()) {
    const std::string words = golden.words().substr(0, golden.words().find('\n'));
    const Outcome outcome = run_command(
        {"/bin/sh", "-c", fmt::format("exec '{}' schedule {} --threads 1 --kernels reference", kProgram, words)},
        [] { keep_cores(1); });  // algorithms of collectives depend on the number of cores
    return outcome.output + fmt::format("{}", fmt::join(outcome.lines, "\n"));
  }
  const Program program = golden.compile_to(Stage::schedule);
  return print_warnings(program) + print_stages(program.pipeline, program.stages, [](const StageProgram& stage) {
           return print(stage.schedule, stage.local);
         });
}

}  // namespace partita
