#include "golden/golden_programs.h"

#include "cli/job_flags.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "runtime/launch/place.h"
#include "support/program.h"
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
    app_.parse(words_);
  }

  bool has_model() const { return !flags_.model.empty(); }
  const std::string& words() const { return words_; }
  int64_t rank() const { return rank_; }

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
  bool training_ = false, forward_ = false;
};

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

std::string schedule_of_golden(const std::string& input) {
  GoldenProgram golden(input);
  if (golden.has_model()) {
    const std::string words = golden.words().substr(0, golden.words().find('\n'));
    const Outcome outcome =
        run_command({"/bin/sh", "-c",
                     fmt::format("exec '{}' schedule {} --threads 1 --kernels reference", PARTITA_PROGRAM, words)});
    return outcome.output + fmt::format("{}", fmt::join(outcome.lines, "\n"));
  }
  const Program program = golden.compile_to(Stage::schedule);
  return print_warnings(program) + print_stages(program.pipeline, program.stages, [](const StageProgram& stage) {
           return print(stage.schedule, stage.local);
         });
}

}  // namespace partita
