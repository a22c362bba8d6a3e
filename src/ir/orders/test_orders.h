#pragma once
// Pipelines for tests of orders, and an independent replay of orders.

#include <algorithm>
#include <set>
#include <tuple>

#include "ir/orders/sequence.h"

namespace partita {

inline constexpr Order kOrders[] = {Order::gpipe, Order::one_forward_one_backward, Order::interleaved,
                                    Order::zero_bubble};
inline constexpr StageSection kSlotSections[] = {StageSection::forward, StageSection::backward, StageSection::weight};

/// Returns a pipeline with stage s on group s.
inline PipelineShape one_stage_each(int stages, int64_t micro_batches) {
  PipelineShape shape{{}, micro_batches};
  for (int stage = 0; stage < stages; ++stage) shape.groups.push_back(stage);
  return shape;
}

/// Returns a pipeline with stage s on group s modulo `groups`.
inline PipelineShape chunks_on(int groups, int stages, int64_t micro_batches) {
  PipelineShape shape{{}, micro_batches};
  for (int stage = 0; stage < stages; ++stage) shape.groups.push_back(stage % groups);
  return shape;
}

/// Returns pipelines of one to four stages on separate ranks, stages that share ranks round-robin and in a V, uneven
/// stages, and all stages on one group.
inline std::vector<PipelineShape> pipelines() {
  std::vector<PipelineShape> shapes;
  for (const int64_t micro_batches : {1, 2, 3, 4, 8, 13}) {
    for (int stages = 1; stages <= 4; ++stages) shapes.push_back(one_stage_each(stages, micro_batches));
    shapes.push_back(chunks_on(2, 4, micro_batches));
    shapes.push_back(chunks_on(3, 6, micro_batches));
    shapes.push_back({{0, 1, 1, 0}, micro_batches});
    shapes.push_back({{0, 0, 1, 0, 2}, micro_batches});
    shapes.push_back({{0, 0, 0}, micro_batches});
  }
  return shapes;
}

/// Returns the chain plus values that the first stage sends to every other one and whose gradients return.
inline std::vector<Dependency> with_skips(int stages) {
  std::vector<Dependency> dependencies = chain_of(stages);
  for (int stage = 2; stage < stages; ++stage) {
    dependencies.push_back({0, StageSection::forward, stage, StageSection::forward});
    dependencies.push_back({0, StageSection::forward, stage, StageSection::backward});
    dependencies.push_back({stage, StageSection::backward, 0, StageSection::backward});
    dependencies.push_back({stage, StageSection::backward, 0, StageSection::weight});
  }
  return dependencies;
}

inline bool has_weight(const Sequence& sequence) {
  return std::ranges::any_of(sequence, [](const Slot& slot) { return slot.section == StageSection::weight; });
}

/// Returns the slots that a slot waits for: those of its `dependencies`, and of its own stage as Dependency says.
inline std::vector<Slot> needs_of(const Slot& slot, bool has_weight, const std::vector<Dependency>& dependencies) {
  const auto run_in = [&](StageSection section) {
    return section == StageSection::weight && !has_weight ? StageSection::backward : section;
  };
  std::vector<Slot> needs;
  if (slot.section == StageSection::backward) needs.push_back({slot.stage, StageSection::forward, slot.micro_batch});
  if (slot.section == StageSection::weight) needs.push_back({slot.stage, StageSection::backward, slot.micro_batch});
  for (const Dependency& dependency : dependencies) {
    if (dependency.to_stage == slot.stage && run_in(dependency.to) == slot.section)
      needs.push_back({dependency.from_stage, run_in(dependency.from), slot.micro_batch});
  }
  return needs;
}

/// Whether all queues of the groups come to their end, if each group runs its slots in order as soon as they can run.
inline bool ends(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies) {
  std::vector<std::vector<Slot>> queues(shape.groups.size());
  for (auto slot = sequence.rbegin(); slot != sequence.rend(); ++slot)
    queues[shape.groups[slot->stage]].push_back(*slot);
  std::set<std::tuple<int, StageSection, int64_t>> done;
  const bool weight = has_weight(sequence);
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (std::vector<Slot>& queue : queues) {
      while (!queue.empty()) {
        const Slot slot = queue.back();
        const std::vector<Slot> needs = needs_of(slot, weight, dependencies);
        const bool can_run = std::ranges::all_of(needs, [&](const Slot& need) {
          return done.count({need.stage, need.section, need.micro_batch}) > 0;
        });
        if (!can_run) break;
        done.insert({slot.stage, slot.section, slot.micro_batch});
        queue.pop_back();
        has_moved = true;
      }
    }
  }
  return done.size() == sequence.size();
}

/// Whether every slot comes after all slots it waits for.
inline bool is_topological(const Sequence& sequence, const std::vector<Dependency>& dependencies) {
  std::set<std::tuple<int, StageSection, int64_t>> done;
  const bool weight = has_weight(sequence);
  for (const Slot& slot : sequence) {
    for (const Slot& need : needs_of(slot, weight, dependencies)) {
      if (done.count({need.stage, need.section, need.micro_batch}) == 0) return false;
    }
    done.insert({slot.stage, slot.section, slot.micro_batch});
  }
  return true;
}

}  // namespace partita
