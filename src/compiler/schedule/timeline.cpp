#include "compiler/schedule/timeline.h"

#include <algorithm>

#include "compiler/schedule/count_copies.h"
#include "ir/orders/check.h"

namespace partita {
namespace {

/// Returns the phase that an instruction serves: for a bucket, the last phase of its nodes. The wait for a bucket
/// counts as backward, since nothing before the update needs it. An instruction without a node serves the update.
Phase phase_of(const Instruction& instruction, const Schedule& schedule, const std::vector<Phase>& phases) {
  if (instruction.node < 0) return Phase::update;
  if (instruction.kind == Instruction::wait && instruction.bucket >= 0) return Phase::backward;
  Phase phase = phases[instruction.node];
  if (instruction.bucket < 0) return phase;
  for (const NodeId node : schedule.buckets[instruction.bucket].nodes) phase = std::max(phase, phases[node]);
  return phase;
}

/// Returns the indices after the last instruction of the late section that serves the forward pass, and after the last
/// one that serves the forward or the backward pass.
std::pair<size_t, size_t> late_ends(const StageProgram& stage) {
  const Schedule& schedule = stage.schedule;
  const std::vector<Phase> phases = phases_of(stage.local);
  const auto end_of = [&](Phase phase) {
    size_t end = schedule.end(Section::late);
    while (end > schedule.begin(Section::late) && phase_of(schedule.instructions[end - 1], schedule, phases) > phase) {
      --end;
    }
    return end;
  };
  return {end_of(Phase::forward), end_of(Phase::backward)};
}

Section section_of(StageSection part) {
  switch (part) {
    case StageSection::forward: return Section::micro;
    case StageSection::backward: return Section::backward;
    case StageSection::weight: return Section::weight;
  }
  return Section::micro;
}

/// Returns the last instruction before the update that writes the memory of a buffer; reducing or awaiting the bucket
/// of a buffer counts as writing it. None if there is no such instruction. `roots`: `roots_of` the schedule.
SendPoint last_writer(const Schedule& schedule, const std::vector<int>& roots, int buffer) {
  std::vector<bool> in_bucket(schedule.buckets.size(), false);
  for (size_t b = 0; b < in_bucket.size(); ++b) {
    const std::vector<int>& buffers = schedule.buckets[b].buffers;
    in_bucket[b] = std::ranges::any_of(buffers, [&](int one) { return roots[one] == roots[buffer]; });
  }
  for (size_t i = schedule.update(); i-- > 0;) {
    const Instruction& instruction = schedule.instructions[i];
    if (instruction.bucket >= 0 && in_bucket[instruction.bucket]) return i;
    if (std::ranges::any_of(instruction.outputs, [&](int output) { return roots[output] == roots[buffer]; })) {
      return i;
    }
  }
  return std::nullopt;
}

/// Replays the groups without data, to find deadlocks.
class GroupReplay {
 public:
  GroupReplay(const Pipeline& pipeline, const std::vector<StageProgram>& stages)
      : pipeline_(pipeline),
        stages_(stages),
        points_(send_points(pipeline, stages)),
        relayed_(relayed_transfers(pipeline, stages)),
        sent_(pipeline.transfers.size(), 0) {
    for (size_t group = 0; group < pipeline.groups.size(); ++group) {
      groups_.push_back({timeline(pipeline, stages, static_cast<int>(group))});
    }
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      Points points;
      const auto reads = transfers_read(pipeline, stages, static_cast<int>(stage));
      for (size_t i = 0; i < reads.size(); ++i) {
        if (!reads[i].empty()) points[i].reads = reads[i];
      }
      stages_points_.push_back(std::move(points));
    }
    for (size_t t = 0; t < points_.size(); ++t) {
      const auto from = static_cast<size_t>(pipeline.transfers[t].from_stage);
      if (points_[t]) stages_points_[from][*points_[t]].sends.push_back(t);
    }
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Group& group : groups_) moved = advance(group) || moved;
    }
    std::string waiting;
    for (const Group& group : groups_) {
      if (group.at < group.runs.size()) waiting += (waiting.empty() ? "" : "; ") + describe(group);
    }
    if (waiting.empty()) return;
    throw InvalidArgument(
        "[stages] the order deadlocks, got stages that wait for one another, expected another order or other stages: "
        "{}",
        waiting);
  }

 private:
  struct Group {
    std::vector<Run> runs;
    size_t at = 0;
    size_t instruction = 0;  // next instruction of the run
    bool begun = false;
  };

  /// Transfers that an instruction needs before it runs and sends after it.
  struct Point {
    std::vector<size_t> reads{}, sends{};
  };
  using Points = std::map<size_t, Point>;

  bool has_come(size_t transfer, int64_t micro_batch) const {
    return pipeline_.transfers[transfer].verdict || sent_[transfer] > micro_batch_of(transfer, micro_batch);
  }
  int64_t micro_batch_of(size_t transfer, int64_t micro_batch) const {
    return pipeline_.transfers[transfer].in_micro_batches() ? micro_batch : 0;
  }

  /// Runs a group as far as possible. Returns whether it moved.
  bool advance(Group& group) {
    bool moved = false;
    for (; group.at < group.runs.size(); ++group.at) {
      const Run& run = group.runs[group.at];
      if (!group.begun) {
        if (run.begins_section && awaited_at_beginning(run)) return moved;
        group.begun = true;
        group.instruction = run.begin;
        if (run.begins_section) send_at_beginning(run);
        moved = true;
      }
      const Points& points = stages_points_[static_cast<size_t>(run.stage)];
      for (auto point = points.lower_bound(group.instruction); point != points.end() && point->first < run.end;
           ++point) {
        group.instruction = point->first;
        for (const size_t transfer : point->second.reads) {
          if (!has_come(transfer, run.micro_batch)) return moved;
        }
        for (const size_t transfer : point->second.sends) {
          if (pipeline_.transfers[transfer].sent == run.section) ++sent_[transfer];
        }
        moved = true;
      }
      group.begun = false;
    }
    return moved;
  }

  bool is_sent_at_beginning(size_t t, const Run& run) const {
    const Transfer& transfer = pipeline_.transfers[t];
    return transfer.from_stage == run.stage && transfer.sent == run.section && !points_[t];
  }

  void send_at_beginning(const Run& run) {
    for (size_t t = 0; t < points_.size(); ++t) {
      if (is_sent_at_beginning(t, run)) ++sent_[t];
    }
  }

  /// Returns the index of a transfer that the section of `run` waits for at its beginning, since it forwards the
  /// received value from there. Returns none if all such transfers have arrived.
  std::optional<size_t> awaited_at_beginning(const Run& run) const {
    for (size_t t = 0; t < points_.size(); ++t) {
      if (relayed_[t] && is_sent_at_beginning(t, run) && !has_come(*relayed_[t], run.micro_batch)) return relayed_[t];
    }
    return std::nullopt;
  }

  std::string describe(const Group& group) const {
    const Run& run = group.runs[group.at];
    const std::string where = repeats(run.section) ? fmt::format(" of micro-batch {}", run.micro_batch) : std::string();
    std::vector<size_t> awaited;
    if (group.begun) {
      awaited = stages_points_[static_cast<size_t>(run.stage)].at(group.instruction).reads;
    } else if (const std::optional<size_t> relayed = awaited_at_beginning(run)) {
      awaited = {*relayed};
    }
    for (const size_t t : awaited) {
      const Transfer& transfer = pipeline_.transfers[t];
      if (has_come(t, run.micro_batch)) continue;
      const LocalGraph& to = stages_[static_cast<size_t>(run.stage)].local;
      return fmt::format("stage {} {}{} waits for %{} of stage {} {}", run.stage, name_of(run.section), where,
                         to.graph.values[to.graph.inputs[transfer.input].value].name, transfer.from_stage,
                         name_of(transfer.sent));
    }
    return "";
  }

  const Pipeline& pipeline_;
  const std::vector<StageProgram>& stages_;
  const std::vector<SendPoint> points_;
  const std::vector<std::optional<size_t>> relayed_;
  std::vector<int64_t> sent_;  // per transfer: how often it was sent
  std::vector<Group> groups_;
  std::vector<Points> stages_points_;  // per stage
};

}  // namespace

std::vector<Run> timeline(const Pipeline& pipeline, const std::vector<StageProgram>& stages, int group) {
  std::vector<Run> runs;
  std::vector<int> own;
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    if (pipeline.shape.groups[static_cast<size_t>(stage)] == group) own.push_back(stage);
  }
  const auto add = [&](int stage, Section section, int64_t micro_batch) {
    const Schedule& schedule = stages[static_cast<size_t>(stage)].schedule;
    runs.push_back({stage, section, schedule.begin(section), schedule.end(section), micro_batch});
  };
  const auto add_prologue = [&](int stage) {
    const auto& [graph, plan, local, schedule] = stages[static_cast<size_t>(stage)];
    if (schedule.begin(Section::prologue) == schedule.end(Section::joined)) return;
    for (int64_t m = 0; m < local.mesh.micro_batches(); ++m) add(stage, Section::prologue, m);
    add(stage, Section::joined, 0);
  };
  for (const int stage : own) add(stage, Section::once, 0);
  for (const int stage : own) add_prologue(stage);
  if (stages.size() == 1 && !stages[0].local.is_stage()) {
    const Schedule& schedule = stages[0].schedule;
    const int64_t count = schedule.micro_begin() < schedule.micro_end() ? stages[0].local.mesh.micro_batches() : 0;
    for (int64_t m = 0; m < count; ++m) add(0, Section::micro, m);
  }
  for (const Slot& slot : pipeline.sequence) {
    if (pipeline.shape.groups[static_cast<size_t>(slot.stage)] != group) continue;
    add(slot.stage, section_of(slot.section), slot.micro_batch);
  }
  std::map<int, std::pair<size_t, size_t>> ends;
  for (const int stage : own) ends.emplace(stage, late_ends(stages[static_cast<size_t>(stage)]));
  const auto add_late = [&](int stage, size_t begin, size_t end, bool begins_section) {
    runs.push_back({stage, Section::late, begin, end, 0, begins_section});
  };
  const auto schedule_of = [&](int stage) -> const Schedule& { return stages[static_cast<size_t>(stage)].schedule; };
  for (const int stage : own) add_late(stage, schedule_of(stage).begin(Section::late), ends.at(stage).first, true);
  for (auto stage = own.rbegin(); stage != own.rend(); ++stage) {
    add_late(*stage, ends.at(*stage).first, ends.at(*stage).second, false);
  }
  for (const int stage : own) add_late(stage, ends.at(stage).second, schedule_of(stage).end(Section::late), false);
  return runs;
}

std::vector<SendPoint> send_points(const Pipeline& pipeline, const std::vector<StageProgram>& stages) {
  std::vector<SendPoint> points;
  std::vector<std::vector<int>> roots;  // per stage
  for (const StageProgram& stage : stages) roots.push_back(roots_of(stage.schedule));
  for (const Transfer& transfer : pipeline.transfers) {
    const auto from = static_cast<size_t>(transfer.from_stage);
    const Schedule& schedule = stages[from].schedule;
    SendPoint point = last_writer(schedule, roots[from], schedule.outputs[transfer.output]);
    // A sum over micro-batches is complete at the beginning of the late section.
    if (point && schedule.section_of(*point) != transfer.sent) point = std::nullopt;
    points.push_back(point);
  }
  return points;
}

std::vector<std::optional<size_t>> relayed_transfers(const Pipeline& pipeline,
                                                     const std::vector<StageProgram>& stages) {
  std::map<std::pair<int, int>, size_t> received;  // by stage and buffer
  std::vector<std::vector<int>> roots;             // per stage
  for (const StageProgram& stage : stages) roots.push_back(roots_of(stage.schedule));
  for (size_t t = 0; t < pipeline.transfers.size(); ++t) {
    const Transfer& transfer = pipeline.transfers[t];
    if (transfer.verdict) continue;
    const Schedule& schedule = stages[static_cast<size_t>(transfer.to_stage)].schedule;
    received.emplace(std::pair(transfer.to_stage, schedule.inputs[transfer.input]), t);
  }
  const std::vector<SendPoint> points = send_points(pipeline, stages);
  std::vector<std::optional<size_t>> relayed(points.size());
  for (size_t t = 0; t < points.size(); ++t) {
    if (points[t]) continue;
    const Transfer& transfer = pipeline.transfers[t];
    const auto from = static_cast<size_t>(transfer.from_stage);
    const int memory = roots[from][stages[from].schedule.outputs[transfer.output]];
    const auto found = received.find({transfer.from_stage, memory});
    if (found != received.end()) relayed[t] = found->second;
  }
  return relayed;
}

std::vector<std::vector<size_t>> transfers_read(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                                                int stage) {
  const Schedule& schedule = stages[static_cast<size_t>(stage)].schedule;
  const std::vector<int> roots = roots_of(schedule);
  std::map<int, size_t> received;  // by buffer
  for (size_t t = 0; t < pipeline.transfers.size(); ++t) {
    const Transfer& transfer = pipeline.transfers[t];
    if (transfer.to_stage == stage) received.emplace(schedule.inputs[transfer.input], t);
  }
  std::vector<std::vector<size_t>> reads(schedule.instructions.size());
  for (size_t i = 0; i < reads.size(); ++i) {
    for (const int buffer : schedule.instructions[i].inputs) {
      const auto found = received.find(roots[buffer]);
      if (found == received.end()) continue;
      const Transfer& transfer = pipeline.transfers[found->second];
      const Section section = schedule.section_of(i);
      // In its own section once, the stage may first have to send what others need for the value.
      const bool comes_early = transfer.sent == Section::once && !transfer.verdict && section != Section::once;
      reads[comes_early ? schedule.begin(section) : i].push_back(found->second);
      received.erase(found);  // it has arrived before a later instruction of the same micro-batch runs
    }
  }
  return reads;
}

std::vector<size_t> sent_by(const Run& run, const Pipeline& pipeline, const std::vector<SendPoint>& points) {
  std::vector<std::pair<SendPoint, size_t>> sent;
  for (size_t t = 0; t < points.size(); ++t) {
    const Transfer& transfer = pipeline.transfers[t];
    if (transfer.from_stage != run.stage || transfer.sent != run.section || transfer.verdict) continue;
    const bool here = points[t] ? *points[t] >= run.begin && *points[t] < run.end : run.begins_section;
    if (here) sent.emplace_back(points[t], t);
  }
  std::ranges::sort(sent);
  std::vector<size_t> result;
  for (const auto& [point, transfer] : sent) result.push_back(transfer);
  return result;
}

void verify(const Pipeline& pipeline, const std::vector<StageProgram>& stages) {
  // Counting what is in flight over stages needs an order in which a slot comes after all that it needs.
  Pipeline ordered = pipeline;
  ordered.sequence = in_order_of_time(pipeline.sequence, pipeline.shape, dependencies_of(pipeline.transfers));
  const bool has_weight =
      std::ranges::any_of(ordered.sequence, [](const Slot& slot) { return slot.section == StageSection::weight; });
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const LocalGraph& local = stages[stage].local;
    if (!pipeline.shape.forward_only && has_weight != (local.sections == MicroSections::weights)) {
      throw InvalidArgument("[sequence] weight slots do not fit the stages, got {}, expected {}",
                            has_weight ? "some" : "none", has_weight ? "none" : "some");
    }
    require_copies(stages[stage].schedule, local, in_flight_of(ordered, static_cast<int>(stage), local),
                   static_cast<int>(stage));
  }
  GroupReplay(pipeline, stages).run();
}

}  // namespace partita
