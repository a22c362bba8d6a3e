// partita schedule: when each rank of a training runs, sends and reduces what, without running it.

#include <iostream>
#include <memory>
#include <set>
#include <tuple>

#include "base/rank_limit.h"
#include "base/usable_cores.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "compiler/schedule/communications.h"
#include "ir/ops/registry.h"
#include "ir/orders/draw.h"
#include "ir/orders/text.h"
#include "planner/cluster/collective_seconds.h"
#include "planner/cluster/presets.h"
#include "planner/simulation/simulate_program.h"
#include "runtime/launch/place.h"
#include "training/memory.h"

namespace partita {
namespace {

struct ScheduleFlags {
  JobFlags job;
  bool full = false;
  std::string cluster;
};

/// Returns the name of a section, with "forward" for `micro` on a pipeline stage, where the backward pass is a section
/// of its own.
std::string_view section_name(Section section, const LocalGraph& local) {
  return section == Section::micro && local.is_stage() ? "forward" : name_of(section);
}

std::string print_ranks(const RankGroup& group) {
  return group.count == 1 ? fmt::format("rank {}", group.first)
                          : fmt::format("ranks {} to {}", group.first, group.first + group.count - 1);
}

/// Prediction of a step on a cluster.
struct Prediction {
  std::string name;
  Cluster cluster;  // for as many ranks as the program has
  StepPrices prices;
  SimulatedStep step;
};

std::optional<Prediction> predict(const Program& program, const std::string& name, int threads) {
  if (name.empty()) return std::nullopt;
  Cluster cluster = resized(open_cluster(name), program.pipeline.ranks());
  StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), cluster, threads);
  SimulatedStep step = simulate_program(program.pipeline, program.stages, prices, {.memory = true});
  return Prediction{name, std::move(cluster), std::move(prices), std::move(step)};
}

/// Names the algorithms of the communications in a stage: those of the predicted cluster or, without a prediction, of
/// ranks that are threads of one process on this machine.
class AlgorithmNames {
 public:
  AlgorithmNames(const Program& program, size_t stage, const std::string& device, const Prediction* prediction)
      : mesh_(program.stages[stage].local.mesh),
        first_rank_(program.pipeline.group_of(static_cast<int>(stage)).first),
        cluster_(prediction == nullptr ? nullptr : &prediction->cluster),
        are_threads_(device == "cpu" && program.pipeline.ranks() <= kMaxThreadRanks) {}

  /// Returns the algorithm of a communication; none if the prediction has no name for it or, without one, if an
  /// accelerator's program may do it or there are more ranks than a process has threads.
  std::optional<CollectiveAlgorithm> of(const Communication& one) const {
    const auto bytes = static_cast<double>(one.call_bytes);
    if (cluster_ != nullptr) {
      return algorithm_of(one.kind, bytes, place_of(mesh_, one.axes, first_rank_, *cluster_), *cluster_, one.dtype);
    }
    if (!are_threads_) return std::nullopt;
    return choose_algorithm(one.kind, one.dtype, spread_of_threads(mesh_.ways(one.axes), usable_cores().own()))
        .of(bytes);
  }

 private:
  const Mesh& mesh_;
  const int64_t first_rank_;
  const Cluster* const cluster_;
  const bool are_threads_;
};

/// Returns for each stage the seconds of its forward, backward and weight sections in a micro-batch. Includes the
/// communication within the stage that is not asynchronous; leaves out asynchronous messages and transfers between
/// stages.
std::vector<StageTimes> section_seconds(const Program& program, const StepPrices& prices) {
  std::vector<StageTimes> times;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const Schedule& schedule = program.stages[s].schedule;
    const auto seconds_of = [&](Section section) {
      double seconds = 0;
      for (size_t i = schedule.begin(section); i < schedule.end(section); ++i) {
        if (schedule.instructions[i].kind != Instruction::start) seconds += prices.instructions[s][i];
      }
      return seconds;
    };
    times.push_back({seconds_of(Section::micro), seconds_of(Section::backward), seconds_of(Section::weight)});
  }
  return times;
}

/// Returns a line about the predicted step with its milliseconds, those outside of the programs and the bubble, and one
/// for each group of ranks: how long it computes, waits for other stages and communicates, by kind, without overlap,
/// and the most bytes of its arena in use.
std::string print_prediction(const Program& program, const Prediction& prediction) {
  const SimulatedStep& step = prediction.step;
  const auto milliseconds = [](double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); };
  std::string text =
      fmt::format("predicted on {}: {} a step, {} of it outside of the programs, bubble {:.1f} %\n", prediction.name,
                  milliseconds(step.seconds), milliseconds(step.overhead), 100 * step.bubble());
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const SimulatedGroup& group = step.groups[g];
    double most = 0;
    for (const MemoryPoint& point : group.memory) most = std::max(most, point.bytes);
    text += fmt::format("  {}: compute {}, waits for other stages {}", print_ranks(program.pipeline.groups[g]),
                        milliseconds(group.compute), milliseconds(group.bubble));
    for (const auto& [kind, seconds] : group.exposed) {
      if (seconds > 0) text += fmt::format(", exposed {} {}", name_of(kind), milliseconds(seconds));
    }
    text += fmt::format("; in use {} of {}\n", print_bytes(static_cast<int64_t>(most)),
                        print_bytes(static_cast<int64_t>(group.peak_bytes)));
  }
  return text;
}

/// Returns the order of the stages, as text and as a drawing with the predicted times or, without a prediction, the
/// estimated ones.
std::string print_order(const Program& program, Order order, const std::optional<Prediction>& prediction) {
  const Pipeline& pipeline = program.pipeline;
  PipelineShape shape = pipeline.shape;
  if (prediction) shape.times = section_seconds(program, prediction->prices);
  std::string text = fmt::format("order {}: {} stages on {} groups of ranks, {} micro-batches\n", name_of(order),
                                 program.stages.size(), pipeline.groups.size(), pipeline.shape.micro_batches);
  return text + print(pipeline.sequence, pipeline.shape) + "\n" +
         draw(pipeline.sequence, shape, dependencies_of(pipeline.transfers), /*columns=*/160,
              prediction ? "s" : "GFLOP") +
         "\n";
}

/// Returns the numbers of micro-batches whose values the stage holds at once: from one section to a later one, with
/// weight sections only if the stage has some, and for each value received from another stage: "forward to backward 3;
/// received %x 2".
std::string print_in_flight(const Pipeline& pipeline, int stage, const LocalGraph& local, const Schedule& schedule) {
  const InFlight in_flight = in_flight_of(pipeline, stage, local);
  std::string text = fmt::format("forward to backward {}", in_flight.micro_to_backward);
  if (local.sections == MicroSections::weights) {
    text += fmt::format(", forward to weight {}, backward to weight {}", in_flight.micro_to_weight,
                        in_flight.backward_to_weight);
  }
  for (size_t i = 0; i < local.graph.inputs.size(); ++i) {
    const Input& input = local.graph.inputs[i];
    if (input.from_stage < 0 || input.verdict) continue;
    text += fmt::format("{}%{} {}", text.find('%') == text.npos ? "; received " : ", ",
                        local.graph.values[input.value].name, schedule.buffers[schedule.inputs[i]].copies);
  }
  return text;
}

/// Returns a line for each set of communications in the section `of` that have the same kind, reduction, axes and
/// algorithm, are alike exposed or overlapped, and run alike in all or only the last micro-batch: their number, the sum
/// of their bytes, and the most kernels that one overlaps with. "" if there are none.
std::string print_communications(const StageProgram& stage, Section of, const AlgorithmNames& names) {
  struct Sum {
    int64_t count = 0, bytes = 0, kernels = 0;
  };
  std::map<std::tuple<bool, Collective, Reduce, Axes, bool, std::optional<CollectiveAlgorithm>>, Sum> sums;
  for (const Communication& one : communications_of(stage.schedule, stage.local)) {
    if (one.section != of) continue;
    Sum& sum = sums[{one.last, one.kind, one.reduce, one.axes, one.is_exposed(), names.of(one)}];
    ++sum.count;
    sum.bytes += one.bytes;
    sum.kernels = std::max(sum.kernels, one.kernels);
  }
  std::string text;
  for (const auto& [key, sum] : sums) {
    const auto& [last, kind, reduce, axes, exposed, algorithm] = key;
    text += fmt::format("            {} {}{} over {{{}}}{}, {}{}, {}\n", sum.count, name_of(kind),
                        reduce == Reduce::none ? "" : fmt::format(" {}", name_of(reduce)), stage.local.mesh.print(axes),
                        algorithm ? fmt::format(" by {}", name_of(*algorithm)) : "", print_bytes(sum.bytes),
                        last && is_micro(of) ? " in the last micro-batch" : "",
                        exposed ? "exposed" : fmt::format("overlapped with up to {} kernels", sum.kernels));
  }
  return text;
}

std::string print_sections(const StageProgram& stage, const AlgorithmNames& names) {
  const auto work = work_of_sections(stage.local, all_ops());
  std::string text;
  for (const Section section : kSections) {
    const size_t count = stage.schedule.end(section) - stage.schedule.begin(section);
    if (count == 0) continue;
    text += fmt::format("  {:<9} {} x {} instructions, {:.4g} GFLOP\n{}", section_name(section, stage.local),
                        repeats(section) ? stage.local.mesh.micro_batches() : 1, count,
                        work[static_cast<size_t>(section)], print_communications(stage, section, names));
  }
  return text;
}

std::string print_stage(const Program& program, size_t index, const AlgorithmNames& names) {
  const StageProgram& stage = program.stages[index];
  const LocalGraph& local = stage.local;
  const int number = static_cast<int>(index);
  std::string text = print_ranks(program.pipeline.group_of(number)) + ": " + print(local.mesh) + "\n";
  if (local.is_stage()) text = fmt::format("stage {} of {}, {}", index, program.stages.size(), text);
  text += fmt::format("  arena     {}, {} of it states\n", print_bytes(stage.schedule.arena_bytes),
                      print_bytes(stage.schedule.state_bytes));
  if (local.is_stage())
    text += fmt::format("  in flight {}\n", print_in_flight(program.pipeline, number, local, stage.schedule));
  return text + print_sections(stage, names);
}

std::string print_transfers(const Program& program) {
  std::string text = "transfers\n";
  std::set<std::pair<int, size_t>> verdict;  // all stages receive each number in one all_gather
  for (const Transfer& transfer : program.pipeline.transfers) {
    const LocalGraph &from = program.stages[static_cast<size_t>(transfer.from_stage)].local,
                     &to = program.stages[static_cast<size_t>(transfer.to_stage)].local;
    if (transfer.verdict) {
      verdict.emplace(transfer.from_stage, transfer.output);
      continue;
    }
    const ValueId value = to.graph.inputs[transfer.input].value;
    text += fmt::format("  %{}: {}, {} to each rank{}, from stage {} after {} to stage {} for {}\n",
                        to.graph.values[value].name, print(to.largest(value)), print_bytes(to.largest(value).bytes()),
                        transfer.in_micro_batches() ? " and micro-batch" : " once", transfer.from_stage,
                        section_name(transfer.sent, from), transfer.to_stage, section_name(transfer.first, to));
  }
  return text + fmt::format("  verdict: {} number{}, one all_gather of all ranks\n", verdict.size(),
                            verdict.size() == 1 ? "" : "s");
}

/// Returns a summary for people: the order of the stages or the number of micro-batches, the memory and sections of
/// each stage, the transfers between stages and, if given, the prediction. print(Schedule) prints everything that runs.
std::string print_overview(const Program& program, const JobConfig& config,
                           const std::optional<Prediction>& prediction) {
  const Order order = config.plan.options.pipeline.order;
  const bool has_stages = program.stages.size() > 1;
  std::string text = has_stages ? print_order(program, order, prediction)
                                : fmt::format("micro-batches: {}\n", program.stages[0].local.mesh.micro_batches());
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    const AlgorithmNames names(program, stage, config.ranks.device, prediction ? &*prediction : nullptr);
    text += print_stage(program, stage, names) + (has_stages ? "\n" : "");
  }
  if (has_stages) text += print_transfers(program);
  if (prediction) text += (has_stages ? "\n" : "") + print_prediction(program, *prediction);
  return text;
}

void run_schedule(const ScheduleFlags& flags) {
  const ZooJob job(configuration(flags.job), this_place().alone());
  if (printed_config(flags.job, job.config())) return;
  const Program program = job.program(Purpose::training);
  for (const std::string& warning : program.warnings) warn(warning);
  std::cout << (flags.full ? print_stages(program.pipeline, program.stages,
                                          [](const StageProgram& stage) { return print(stage.schedule, stage.local); })
                           : print_overview(program, job.config(),
                                            predict(program, flags.cluster, job.config().ranks.threads)));
}

}  // namespace

void add_schedule(CLI::App& app) {
  const auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* command = add_command(
      app, "schedule",
      "Print what the ranks of a training run, send and reduce, by which algorithms, and when, without running it",
      flags, run_schedule);
  add_job_flags(*command, flags->job, decides_program);
  command->add_flag("--full", flags->full, "Print every instruction and buffer of each stage instead");
  command
      ->add_option(
          "--cluster", flags->cluster,
          "Also print the time of a step on this cluster, by group: a preset (NAME or NAME:NODES) or a TOML file")
      ->excludes("--full");
  command->footer("Example: partita schedule gpt --ranks 4 --stages 4 --micro-batches 8 --order zero_bubble");
}

}  // namespace partita
