#include "ir/orders/simulate.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "base/error.h"

namespace partita {
namespace {

/// Runs queues to their end. A heap holds the groups whose first slot can start, by start time. No slot that becomes
/// ready later can start before the top.
class QueueReplay {
 public:
  QueueReplay(const GroupQueues& queues, const SectionGraph& graph)
      : queues_(queues),
        graph_(graph),
        position_(queues.size()),
        free_at_(queues.size()),
        waiting_(graph.slots()),
        ready_at_(graph.slots()),
        has_run_(graph.slots()) {
    for (int section = 0; section < graph.sections(); ++section) {
      const auto needs = static_cast<int>(graph.needs(section).size());
      std::fill_n(waiting_.begin() + section * graph.micro_batches(), graph.micro_batches(), needs);
    }
  }

  Simulation run() {
    Simulation result;
    result.slots.reserve(graph_.slots());
    for (int group = 0; group < graph_.groups(); ++group) offer(group);
    while (!next_.empty()) {
      const auto [start, group] = next_.top();
      next_.pop();
      const Slot slot = queues_[group][position_[group]++];
      const double end = start + graph_.seconds(graph_.section(slot.stage, slot.section));
      result.slots.push_back({slot, start, end});
      free_at_[group] = end;
      has_run_[graph_.number(slot)] = true;
      finish(slot, end);
      offer(group);
    }
    if (static_cast<int64_t>(result.slots.size()) < graph_.slots()) refuse();
    result.seconds = *std::ranges::max_element(free_at_);
    result.idle.assign(queues_.size(), result.seconds);
    for (const TimedSlot& timed : result.slots)
      result.idle[graph_.group_of(timed.slot.stage)] -= timed.end - timed.start;
    return result;
  }

 private:
  bool has_next(int group) const { return position_[group] < queues_[group].size(); }
  const Slot& first_of(int group) const { return queues_[group][position_[group]]; }

  /// Puts the group into the heap if its first slot waits only for the group.
  void offer(int group) {
    if (!has_next(group)) return;
    const int64_t number = graph_.number(first_of(group));
    if (waiting_[number] == 0) next_.emplace(std::max(free_at_[group], ready_at_[number]), group);
  }

  void finish(const Slot& slot, double end) {
    const int group = graph_.group_of(slot.stage);
    for (const int user : graph_.users(graph_.section(slot.stage, slot.section))) {
      const int64_t number = user * graph_.micro_batches() + slot.micro_batch;
      ready_at_[number] = std::max(ready_at_[number], end);
      if (--waiting_[number] > 0) continue;
      const int other = graph_.group_of(graph_.slot(number).stage);
      if (other != group && has_next(other) && graph_.number(first_of(other)) == number) offer(other);
    }
  }

  /// Returns a slot that the group's first slot waits for and that has not run. Throws InternalError if there is none.
  Slot awaited_by(int group) const {
    const Slot& slot = first_of(group);
    for (const int need : graph_.needs(graph_.section(slot.stage, slot.section))) {
      const int64_t number = need * graph_.micro_batches() + slot.micro_batch;
      if (!has_run_[number]) return graph_.slot(number);
    }
    PARTITA_CHECK(false, "{} waits for nothing", long_name(slot));
  }

  /// Throws InvalidArgument with the cycle. The first slot of every unfinished group waits for a slot that comes after
  /// the first one of its group.
  [[noreturn]] void refuse() const {
    int group = 0;
    while (!has_next(group)) ++group;
    const auto next = [&](int at) { return graph_.group_of(awaited_by(at).stage); };
    for (int step = 0; step < graph_.groups(); ++step) group = next(group);
    std::string cycle = long_name(first_of(group));
    int at = group;
    do {
      const Slot awaited = awaited_by(at);
      cycle += fmt::format("{} waits for {}", at == group ? "" : ", which", long_name(awaited));
      at = graph_.group_of(awaited.stage);
      if (!(first_of(at) == awaited)) cycle += fmt::format(", which comes after {}", long_name(first_of(at)));
    } while (at != group);
    throw InvalidArgument("[sequence] the order deadlocks, got {}, expected no cycle", cycle);
  }

  const GroupQueues& queues_;
  const SectionGraph& graph_;
  std::vector<size_t> position_;  // per group: number of slots that have run
  std::vector<double> free_at_;   // per group
  std::vector<int> waiting_;      // per slot: number of slots it waits for
  std::vector<double> ready_at_;  // per slot
  std::vector<bool> has_run_;     // per slot
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> next_;
};

double idle_part(double idle, double seconds) { return seconds > 0 ? idle / seconds : 0; }

}  // namespace

double Simulation::bubble(int group) const { return idle_part(idle.at(group), seconds); }

double Simulation::bubble() const {
  return idle_part(std::accumulate(idle.begin(), idle.end(), 0.0), seconds * static_cast<double>(idle.size()));
}

Simulation simulate(const GroupQueues& queues, const SectionGraph& graph) { return QueueReplay(queues, graph).run(); }

Simulation simulate(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies) {
  const bool has_weight =
      std::ranges::any_of(sequence, [](const Slot& slot) { return slot.section == StageSection::weight; });
  return simulate(queues_of(sequence, shape), SectionGraph(shape, dependencies, has_weight));
}

Sequence sequence_of(const Simulation& simulation) {
  Sequence sequence;
  sequence.reserve(simulation.slots.size());
  for (const TimedSlot& timed : simulation.slots) sequence.push_back(timed.slot);
  return sequence;
}

GroupQueues queues_of(const Sequence& sequence, const PipelineShape& shape) {
  GroupQueues queues(shape.group_count());
  for (const Slot& slot : sequence) queues[shape.groups.at(slot.stage)].push_back(slot);
  return queues;
}

}  // namespace partita
