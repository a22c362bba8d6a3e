#include "planner/simulation/program_tasks.h"

#include <algorithm>

#include "compiler/partition/collectives.h"

namespace partita {

bool computes(const Instruction& instruction, const LocalGraph& local) {
  switch (instruction.kind) {
    case Instruction::start:
    case Instruction::wait:
    case Instruction::reduce: return false;
    case Instruction::collective:
      return is_local(*collective_of(local.graph.nodes[static_cast<size_t>(instruction.node)]));
    default: return true;
  }
}

namespace {

/// The points of a stage's schedule at which something other than computation happens, and its seconds up to each
/// instruction.
struct StagePoints {
  std::vector<size_t> points;  // ascending
  std::vector<double> before;  // seconds of computation before each instruction, and last the sum
  std::vector<std::vector<size_t>> reads;
  std::map<size_t, std::vector<size_t>> sends;      // transfers sent after an instruction
  std::map<Section, std::vector<size_t>> at_begin;  // transfers sent at the begin of a section
  double seconds(size_t begin, size_t end) const { return before[end] - before[begin]; }
};

StagePoints points_of(const StageProgram& stage, const std::vector<double>& seconds) {
  StagePoints result;
  result.before.push_back(0);
  for (size_t i = 0; i < seconds.size(); ++i) {
    const bool is_computed = computes(stage.schedule.instructions[i], stage.local);
    result.before.push_back(result.before.back() + (is_computed ? seconds[i] : 0));
    if (!is_computed) result.points.push_back(i);
  }
  return result;
}

class TaskBuilder {
 public:
  TaskBuilder(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const StepPrices& prices)
      : pipeline_(pipeline), stages_(stages), prices_(prices), relayed_(relayed_transfers(pipeline, stages)) {
    find_points();
  }

  ProgramTasks build() {
    const auto groups = static_cast<int>(pipeline_.groups.size());
    for (int group = 0; group < groups; ++group) {
      result_.runs.push_back(timeline(pipeline_, stages_, group));
      add_runs(group);
    }
    for (const int task : receives_) {
      const ProgramTask& receive = result_.tasks[static_cast<size_t>(task)];
      const auto sent = sent_.find({receive.begin, receive.micro_batch});
      PARTITA_CHECK(sent != sent_.end(), "a stage waits for a value that nobody sends");
      wait_for(task, sent->second);
    }
    if (stages_.size() > 1) add_verdict();
    for (int group = 0; group < groups; ++group) add_updates(group);
    return std::move(result_);
  }

 private:
  void find_points() {
    const std::vector<SendPoint> points = send_points(pipeline_, stages_);
    for (size_t s = 0; s < stages_.size(); ++s) {
      StagePoints of_stage = points_of(stages_[s], prices_.instructions[s]);
      of_stage.reads = transfers_read(pipeline_, stages_, static_cast<int>(s));
      for (size_t t = 0; t < points.size(); ++t) {
        const Transfer& transfer = pipeline_.transfers[t];
        if (transfer.from_stage != static_cast<int>(s) || transfer.verdict) continue;
        if (points[t]) {
          of_stage.sends[*points[t]].push_back(t);
          of_stage.points.push_back(*points[t]);
        } else {
          of_stage.at_begin[transfer.sent].push_back(t);
        }
      }
      for (size_t i = 0; i < of_stage.reads.size(); ++i) {
        std::erase_if(of_stage.reads[i], [&](size_t t) { return pipeline_.transfers[t].verdict; });
        if (!of_stage.reads[i].empty()) of_stage.points.push_back(i);
      }
      std::ranges::sort(of_stage.points);
      const auto last = std::unique(of_stage.points.begin(), of_stage.points.end());
      of_stage.points.erase(last, of_stage.points.end());
      points_.push_back(std::move(of_stage));
    }
    received_.assign(pipeline_.transfers.size(), 0);
  }

  double threads(const RankGroup& group) const { return prices_.rank_threads * group.count; }
  double communicating(const RankGroup& group) const {
    return std::min(prices_.cores, static_cast<double>(group.count));
  }

  int add(ProgramTask::Kind kind, const Run& run, size_t begin, size_t end, double seconds, double cores,
          TaskQueue queue = TaskQueue::compute) {
    const int group = pipeline_.shape.groups[static_cast<size_t>(run.stage)];
    result_.tasks.push_back({kind, run.stage, run.section, run.micro_batch, begin, end, at_});
    result_.awaited.push_back(-1);
    return result_.graph.add({.group = group, .queue = queue, .seconds = seconds, .cores = cores});
  }

  int add_compute(const Run& run, size_t begin, size_t end) {
    return add(ProgramTask::compute, run, begin, end, points_[static_cast<size_t>(run.stage)].seconds(begin, end),
               threads(pipeline_.group_of(run.stage)));
  }

  void wait_for(int task, int earlier) {
    result_.graph.need(task, earlier);
    result_.awaited[static_cast<size_t>(task)] = earlier;
  }

  void add_runs(int group) {
    last_task_ = -1;
    const std::vector<Run>& runs = result_.runs[static_cast<size_t>(group)];
    for (at_ = 0; at_ < runs.size(); ++at_) add_run(runs[at_]);
    for (size_t t = 0; t < pipeline_.transfers.size(); ++t) {  // values that only the update or outputs read
      const Transfer& transfer = pipeline_.transfers[t];
      if (transfer.verdict || pipeline_.shape.groups[static_cast<size_t>(transfer.to_stage)] != group) continue;
      const int64_t micro_batches = transfer.in_micro_batches() ? pipeline_.shape.micro_batches : 1;
      await({.stage = transfer.to_stage, .section = Section::late}, t, micro_batches - 1);
    }
    last_.push_back(last_task_);
  }

  void add_run(const Run& run) {
    const StagePoints& points = points_[static_cast<size_t>(run.stage)];
    const auto& [graph, plan, local, schedule] = stages_[static_cast<size_t>(run.stage)];
    const bool is_last = run.micro_batch == local.mesh.micro_batches() - 1;
    if (run.begins_section) {
      if (const auto found = points.at_begin.find(run.section); found != points.at_begin.end()) {
        for (const size_t t : found->second) {
          if (relayed_[t]) await(run, *relayed_[t], run.micro_batch);
          send(run, t);
        }
      }
    }
    size_t done = run.begin;  // instructions before it have tasks
    const auto compute_up_to = [&](size_t end) {
      if (done < end) last_task_ = add_compute(run, done, end);
      done = std::max(done, end);
    };
    for (auto point = std::ranges::lower_bound(points.points, run.begin);
         point != points.points.end() && *point < run.end; ++point) {
      const Instruction& instruction = schedule.instructions[*point];
      if (!points.reads[*point].empty()) {
        compute_up_to(*point);
        for (const size_t t : points.reads[*point]) await(run, t, run.micro_batch);
      }
      if (!computes(instruction, local)) {
        compute_up_to(*point);
        if (!instruction.last || is_last) add_message(run, *point);
        done = *point + 1;
      }
      if (const auto found = points.sends.find(*point); found != points.sends.end()) {
        compute_up_to(*point + 1);
        for (const size_t t : found->second) {
          if (pipeline_.transfers[t].sent == run.section) send(run, t);
        }
      }
    }
    compute_up_to(run.end);
  }

  /// Adds the task of a collective, of the start of one, or of the wait for it.
  void add_message(const Run& run, size_t index) {
    const auto stage = static_cast<size_t>(run.stage);
    const Instruction& instruction = stages_[stage].schedule.instructions[index];
    const double cores = communicating(pipeline_.group_of(run.stage));
    const double seconds = prices_.instructions[stage][index];
    const std::tuple message{run.stage, instruction.bucket, instruction.bucket < 0 ? instruction.node : -1};
    if (instruction.kind == Instruction::start) {
      const int task = add(ProgramTask::message, run, index, index + 1, seconds, cores, TaskQueue::communicate);
      if (last_task_ >= 0) result_.graph.need(task, last_task_);
      messages_[message] = task;
      return;
    }
    if (instruction.kind != Instruction::wait) {
      last_task_ = add(ProgramTask::collective, run, index, index + 1, seconds, cores);
      return;
    }
    last_task_ = add(ProgramTask::wait, run, index, index + 1, 0, 0);
    if (const auto started = messages_.find(message); started != messages_.end()) {
      wait_for(last_task_, started->second);
    }
  }

  void send(const Run& run, size_t t) {
    const TransferPrice& price = prices_.transfers[t];
    const int64_t micro_batch = pipeline_.transfers[t].in_micro_batches() ? run.micro_batch : 0;
    int task = last_task_;
    if (price.send > 0 || task < 0) {
      task = last_task_ = add(ProgramTask::send, run, t, t, price.send, communicating(pipeline_.group_of(run.stage)));
    }
    if (price.message > 0) {
      const int wire = add(ProgramTask::wire, run, t, t, price.message, 0, TaskQueue::transfer);
      result_.graph.need(wire, task);
      task = wire;
    }
    sent_[{t, micro_batch}] = task;
  }

  /// Adds receives for all messages of a transfer up to a micro-batch that have not been received.
  void await(const Run& run, size_t t, int64_t micro_batch) {
    const int64_t wanted = pipeline_.transfers[t].in_micro_batches() ? micro_batch : 0;
    for (; received_[t] <= wanted; ++received_[t]) {
      Run of_message = run;
      of_message.micro_batch = received_[t];
      last_task_ = add(ProgramTask::receive, of_message, t, t, prices_.transfers[t].receive,
                       communicating(pipeline_.group_of(run.stage)));
      receives_.push_back(last_task_);
    }
  }

  /// Adds the barrier of all groups before the update.
  void add_verdict() {
    const int meeting = result_.graph.add({.queue = TaskQueue::transfer});
    result_.tasks.push_back({.kind = ProgramTask::verdict});
    result_.awaited.push_back(-1);
    for (size_t group = 0; group < last_.size(); ++group) {
      if (last_[group] >= 0) result_.graph.need(meeting, last_[group]);
      const auto& groups = pipeline_.shape.groups;
      const auto stage = std::ranges::find(groups, static_cast<int>(group)) - groups.begin();
      last_[group] = add(ProgramTask::verdict, {.stage = static_cast<int>(stage)}, 0, 0, prices_.verdict, 0);
      result_.graph.need(last_[group], meeting);
    }
  }

  void add_updates(int group) {
    std::vector<Run>& runs = result_.runs[static_cast<size_t>(group)];
    last_task_ = last_[static_cast<size_t>(group)];
    for (size_t s = 0; s < stages_.size(); ++s) {
      if (pipeline_.shape.groups[s] != group) continue;
      const Schedule& schedule = stages_[s].schedule;
      at_ = runs.size();
      runs.push_back(
          {static_cast<int>(s), Section::update, schedule.begin(Section::update), schedule.end(Section::update), 0});
      add_run(runs.back());
    }
  }

  const Pipeline& pipeline_;
  const std::vector<StageProgram>& stages_;
  const StepPrices& prices_;
  const std::vector<std::optional<size_t>> relayed_;
  ProgramTasks result_;
  std::vector<StagePoints> points_;
  std::vector<int64_t> received_;  // per transfer: number of receives so far
  std::map<std::pair<size_t, int64_t>, int> sent_;
  std::vector<int> receives_;
  std::map<std::tuple<int, int, NodeId>, int> messages_;  // last started message of each collective
  std::vector<int> last_;                                 // per group: its last task before the verdict
  int last_task_ = -1;                                    // last task of the current group's compute thread
  size_t at_ = 0;                                         // index of the current run
};

}  // namespace

ProgramTasks tasks_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const StepPrices& prices) {
  return TaskBuilder(pipeline, stages, prices).build();
}

}  // namespace partita
