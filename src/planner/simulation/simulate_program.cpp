#include "planner/simulation/simulate_program.h"

#include <algorithm>
#include <limits>

#include "compiler/partition/collectives.h"
#include "planner/simulation/live_memory.h"
#include "planner/simulation/program_tasks.h"

namespace partita {
namespace {

Collective kind_of(const Instruction& instruction, const LocalGraph& local) {
  if (instruction.bucket >= 0) return Collective::all_reduce;
  return *collective_of(local.graph.nodes[static_cast<size_t>(instruction.node)]);
}

/// Derives the results of a step from the times of its tasks.
class StepResult {
 public:
  StepResult(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const StepPrices& prices)
      : pipeline_(pipeline), stages_(stages), prices_(prices), program_(tasks_of(pipeline, stages, prices)) {
    times_ = run(program_.graph,
                 {.overlap_slowdown = prices.overlap_slowdown, .cores = prices.cores, .busy_share = prices.busy_share});
  }

  SimulatedStep step(const SimulationOptions& options) {
    SimulatedStep step{.overhead = prices_.overhead};
    step.groups.resize(pipeline_.groups.size());
    double end = 0;
    for (const TimedTask& time : times_) end = std::max(end, time.end);
    step.seconds = end + prices_.overhead;
    for (size_t t = 0; t < times_.size(); ++t) account(t, step.groups[group_of(t)]);
    for (size_t group = 0; group < step.groups.size(); ++group) {
      SimulatedGroup& own = step.groups[group];
      double accounted = own.compute;
      for (const auto& [kind, seconds] : own.exposed) accounted += seconds;
      own.bubble = std::max(0.0, end - accounted);
    }
    const std::vector<int64_t> arenas =
        bytes_of_groups(pipeline_, [&](size_t stage) { return stages_[stage].schedule.arena_bytes; });
    for (size_t group = 0; group < arenas.size(); ++group) {
      step.groups[group].peak_bytes = static_cast<double>(arenas[group]);
    }
    if (options.spans) add_spans(step);
    if (options.memory) add_memory(step);
    return step;
  }

 private:
  size_t group_of(size_t t) const { return static_cast<size_t>(program_.graph.tasks()[t].group); }
  const StageProgram& stage_of(const ProgramTask& task) const { return stages_[static_cast<size_t>(task.stage)]; }
  Collective collective(const ProgramTask& task) const {
    return kind_of(stage_of(task).schedule.instructions[task.begin], stage_of(task).local);
  }

  /// Adds the seconds of a task of the compute thread, with the wait for a message before it, to its group's
  /// computation or exposed communication. Does nothing for messages and wires. What is not added is a bubble.
  void account(size_t t, SimulatedGroup& group) const {
    const ProgramTask& task = program_.tasks[t];
    const double seconds = times_[t].end - times_[t].begin;
    switch (task.kind) {
      case ProgramTask::compute: group.compute += seconds; return;
      case ProgramTask::collective: group.exposed[collective(task)] += seconds; return;
      case ProgramTask::send: group.exposed[Collective::send] += seconds; return;
      case ProgramTask::receive: group.exposed[Collective::send] += seconds + exposed_wait(t); return;
      case ProgramTask::wait:
        if (program_.awaited[t] >= 0) group.exposed[collective(message_of(t))] += exposed_wait(t);
        return;
      case ProgramTask::verdict: group.exposed[Collective::all_gather] += seconds; return;
      case ProgramTask::message:
      case ProgramTask::wire: return;
    }
  }

  const ProgramTask& message_of(size_t t) const { return program_.tasks[static_cast<size_t>(program_.awaited[t])]; }

  /// Seconds that a task waits while the awaited message runs; 0 if it awaits none.
  double exposed_wait(size_t t) const {
    if (program_.awaited[t] < 0) return 0;
    const auto message = static_cast<size_t>(program_.awaited[t]);
    const ProgramTask::Kind kind = program_.tasks[message].kind;
    if (kind == ProgramTask::message) return times_[t].begin - times_[t].free;
    if (kind != ProgramTask::wire) return 0;
    return std::max(0.0, times_[t].begin - std::max(times_[t].free, times_[message].begin));
  }

  /// Calls `use(instruction, begin, end)` for each instruction of a computing task that computes, with its share of the
  /// task's time by price; for another task, once with its first instruction and the times of the task.
  template <class Use>
  void for_instructions(size_t t, const Use& use) const {
    const ProgramTask& task = program_.tasks[t];
    if (task.kind != ProgramTask::compute) return use(task.begin, times_[t].begin, times_[t].end);
    const std::vector<double>& prices = prices_.instructions[static_cast<size_t>(task.stage)];
    const StageProgram& stage = stage_of(task);
    double all = 0, done = 0;
    for (size_t i = task.begin; i < task.end; ++i) all += prices[i];
    const double rate = all > 0 ? (times_[t].end - times_[t].begin) / all : 0;
    for (size_t i = task.begin; i < task.end; ++i) {
      if (!computes(stage.schedule.instructions[i], stage.local)) continue;
      use(i, times_[t].begin + rate * done, times_[t].begin + rate * (done + prices[i]));
      done += prices[i];
    }
  }

  static bool is_transfer(const ProgramTask& task) {
    return task.kind == ProgramTask::send || task.kind == ProgramTask::receive || task.kind == ProgramTask::wire;
  }

  void add_spans(SimulatedStep& step) const {
    std::vector<std::vector<PredictedSpan>> sections(step.groups.size());
    for (size_t group = 0; group < step.groups.size(); ++group) {
      for (const Run& run : program_.runs[group]) {
        sections[group].push_back({PredictedSpan::section, run.stage, static_cast<size_t>(run.section), run.micro_batch,
                                   0, std::numeric_limits<double>::infinity(), -1});
      }
    }
    for (size_t t = 0; t < times_.size(); ++t) {
      const ProgramTask& task = program_.tasks[t];
      if (program_.graph.tasks()[t].queue == TaskQueue::transfer) continue;
      add_spans_of(t, step.groups[group_of(t)]);
      if (task.kind == ProgramTask::message || task.kind == ProgramTask::verdict) continue;
      if (task.run >= sections[group_of(t)].size()) continue;
      PredictedSpan& section = sections[group_of(t)][task.run];
      const bool waits = task.kind == ProgramTask::wait || task.kind == ProgramTask::receive;
      section.begin = std::min(section.begin, waits ? times_[t].free : times_[t].begin);
      section.end = std::max(section.end, times_[t].end);
    }
    for (size_t group = 0; group < step.groups.size(); ++group) {
      double at = 0;
      for (PredictedSpan section : sections[group]) {
        if (section.end < section.begin) section.begin = section.end = at;  // an empty section
        at = section.end;
        step.groups[group].spans.push_back(section);
      }
    }
  }

  void add_spans_of(size_t t, SimulatedGroup& group) const {
    const ProgramTask& task = program_.tasks[t];
    PredictedSpan span{.stage = task.stage, .micro_batch = task.micro_batch};
    if (task.kind == ProgramTask::message) span.thread = 1 + index_in_group(task.stage);
    if (is_transfer(task) || task.kind == ProgramTask::verdict) {
      span.kind = task.kind == ProgramTask::send      ? PredictedSpan::send
                  : task.kind == ProgramTask::receive ? PredictedSpan::receive
                                                      : PredictedSpan::verdict;
      span.index = task.begin;
      span.begin = task.kind == ProgramTask::send ? times_[t].begin : times_[t].free;
      span.end = times_[t].end;
      group.spans.push_back(span);
      return;
    }
    for_instructions(t, [&](size_t instruction, double begin, double end) {
      span.index = instruction;
      span.begin = task.kind == ProgramTask::wait ? times_[t].free : begin;
      span.end = end;
      group.spans.push_back(span);
    });
  }

  int index_in_group(int stage) const {
    const auto& groups = pipeline_.shape.groups;
    return static_cast<int>(std::count(groups.begin(), groups.begin() + stage, groups[static_cast<size_t>(stage)]));
  }

  void add_memory(SimulatedStep& step) const {
    std::vector<LiveMemory> live;
    for (const StageProgram& stage : stages_) live.emplace_back(stage);
    struct Event {
      double seconds, bytes;
      bool operator<(const Event& other) const { return seconds < other.seconds; }
    };
    std::vector<std::vector<Event>> events(step.groups.size());
    for (size_t t = 0; t < times_.size(); ++t) {
      const ProgramTask& task = program_.tasks[t];
      if (is_transfer(task) || task.kind == ProgramTask::verdict) continue;
      const LiveMemory& of_stage = live[static_cast<size_t>(task.stage)];
      for_instructions(t, [&](size_t instruction, double begin, double end) {
        const MemoryChange change = of_stage.change(instruction, task.micro_batch);
        if (change.taken > 0) events[group_of(t)].push_back({begin, static_cast<double>(change.taken)});
        if (change.released > 0) events[group_of(t)].push_back({end, -static_cast<double>(change.released)});
      });
    }
    for (size_t group = 0; group < events.size(); ++group) {
      double bytes = 0;
      for (size_t stage = 0; stage < stages_.size(); ++stage) {
        if (pipeline_.shape.groups[stage] == static_cast<int>(group))
          bytes += static_cast<double>(live[stage].always());
      }
      std::vector<MemoryPoint>& points = step.groups[group].memory;
      points.push_back({0, bytes});
      std::stable_sort(events[group].begin(), events[group].end());
      for (const Event& event : events[group]) {
        bytes += event.bytes;
        if (points.back().seconds == event.seconds) {
          points.back().bytes = bytes;
        } else {
          points.push_back({event.seconds, bytes});
        }
      }
    }
  }

  const Pipeline& pipeline_;
  const std::vector<StageProgram>& stages_;
  const StepPrices& prices_;
  const ProgramTasks program_;
  std::vector<TimedTask> times_;
};

}  // namespace

double SimulatedStep::bubble() const {
  double sum = 0;
  for (const SimulatedGroup& group : groups) sum += group.bubble;
  return seconds > 0 ? sum / seconds / static_cast<double>(groups.size()) : 0;
}

SimulatedStep simulate_program(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                               const StepPrices& prices, const SimulationOptions& options) {
  return StepResult(pipeline, stages, prices).step(options);
}

}  // namespace partita
