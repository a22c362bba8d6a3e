#include "ir/orders/section_graph.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita {
namespace {

void require_groups(const std::vector<int>& groups) {
  const int stages = static_cast<int>(groups.size());
  std::vector<bool> seen(stages);
  int most = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const int group = groups[stage];
    if (group < 0 || group >= stages) {
      throw InvalidArgument("[pipeline] bad group of stage {}, got {}, expected 0 to {}", stage, group, stages - 1);
    }
    seen[group] = true;
    most = std::max(most, group);
  }
  for (int group = 0; group < most; ++group) {
    if (seen[group]) continue;
    throw InvalidArgument("[pipeline] a group without a stage, got none on group {} of 0 to {}, expected at least one",
                          group, most);
  }
}

void require_times(const PipelineShape& shape) {
  if (!shape.times.empty() && shape.times.size() != shape.groups.size()) {
    throw InvalidArgument("[pipeline] times of the wrong number of stages, got {}, expected {}", shape.times.size(),
                          shape.groups.size());
  }
  for (size_t stage = 0; stage < shape.times.size(); ++stage) {
    const StageTimes& times = shape.times[stage];
    for (const double seconds : {times.forward, times.backward, times.weight}) {
      if (std::isfinite(seconds) && seconds >= 0) continue;
      throw InvalidArgument("[pipeline] bad time of stage {}, got {} s, expected 0 s or more", stage, seconds);
    }
  }
}

void require_shape(const PipelineShape& shape) {
  const auto stages = static_cast<int64_t>(shape.groups.size());
  if (stages < 1 || stages > kMaxStageMicroBatches) {
    throw InvalidArgument("[pipeline] bad number of stages, got {}, expected 1 to {}", stages, kMaxStageMicroBatches);
  }
  if (shape.micro_batches < 1 || shape.micro_batches > kMaxStageMicroBatches / stages) {
    throw InvalidArgument("[pipeline] bad number of micro-batches, got {}, expected 1 to {} for {} stages",
                          shape.micro_batches, kMaxStageMicroBatches / stages, stages);
  }
  require_groups(shape.groups);
  require_times(shape);
}

void require_dependency(const Dependency& dependency, int stages) {
  for (const int stage : {dependency.from_stage, dependency.to_stage}) {
    if (stage >= 0 && stage < stages) continue;
    throw InvalidArgument("[pipeline] a dependency of a stage that does not exist, got {}, expected 0 to {}", stage,
                          stages - 1);
  }
  if (dependency.from <= dependency.to) return;
  throw InvalidArgument(
      "[pipeline] a section needs a later one, got the {} of stage {} for the {} of stage {}, expected {} or before",
      name_of(dependency.from), dependency.from_stage, name_of(dependency.to), dependency.to_stage,
      name_of(dependency.to));
}

}  // namespace

SectionGraph::SectionGraph(const PipelineShape& shape, const std::vector<Dependency>& dependencies, bool has_weight)
    : shape_(shape),
      has_weight_(has_weight),
      sections_per_stage_(shape.forward_only ? 1
                          : has_weight       ? 3
                                             : 2) {
  require_shape(shape);
  groups_ = shape.group_count();
  stages_of_.resize(groups_);
  for (int stage = 0; stage < stages(); ++stage) stages_of_[group_of(stage)].push_back(stage);
  std::vector<std::pair<int, int>> edges = edges_of(dependencies);
  needs_ = lists(sections(), edges);
  for (auto& [to, from] : edges) std::swap(to, from);
  users_ = lists(sections(), edges);
  require_no_cycle();
  set_seconds();
}

Slot SectionGraph::slot(int64_t number) const {
  const auto section = static_cast<int>(number / micro_batches());
  return {section / sections_per_stage_, static_cast<StageSection>(section % sections_per_stage_),
          number % micro_batches()};
}

SectionGraph SectionGraph::with_unit_times() const {
  SectionGraph result = *this;
  result.shape_.times.clear();
  result.set_seconds();
  return result;
}

/// Returns (section, section it waits for) pairs, sorted and each once: within each stage every section waits for the
/// one before it, and across stages as `dependencies` say. Leaves out those of sections that the shape lacks; without
/// weight slots, weight means backward. Throws InvalidArgument for a dependency on a stage that does not exist or on a
/// later section.
std::vector<std::pair<int, int>> SectionGraph::edges_of(const std::vector<Dependency>& dependencies) const {
  std::vector<std::pair<int, int>> edges;
  for (int stage = 0; stage < stages(); ++stage) {
    for (int later = 1; later < sections_per_stage_; ++later) {
      const int to = stage * sections_per_stage_ + later;
      edges.emplace_back(to, to - 1);
    }
  }
  const auto run_in = [&](StageSection wanted) {
    return wanted == StageSection::weight && !has_weight_ ? StageSection::backward : wanted;
  };
  for (const Dependency& dependency : dependencies) {
    require_dependency(dependency, stages());
    if (shape_.forward_only && dependency.to != StageSection::forward) continue;
    const int from = section(dependency.from_stage, run_in(dependency.from));
    const int to = section(dependency.to_stage, run_in(dependency.to));
    const bool is_within = from == to && dependency.from != dependency.to;  // the weights' part of a backward pass
    if (!is_within) edges.emplace_back(to, from);
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

SectionGraph::Lists SectionGraph::lists(int count, const std::vector<std::pair<int, int>>& edges) {
  Lists result;
  result.begins.assign(count + 1, 0);
  for (const auto& [of, member] : edges) ++result.begins[of + 1];
  for (int i = 0; i < count; ++i) result.begins[i + 1] += result.begins[i];
  result.members.resize(edges.size());
  std::vector<int> next(result.begins.begin(), result.begins.end() - 1);
  for (const auto& [of, member] : edges) result.members[next[of]++] = member;
  return result;
}

void SectionGraph::require_no_cycle() const {
  std::vector<int> waiting(sections()), ready;
  for (int i = 0; i < sections(); ++i) {
    waiting[i] = static_cast<int>(needs(i).size());
    if (waiting[i] == 0) ready.push_back(i);
  }
  for (size_t done = 0; done < ready.size(); ++done) {
    for (const int user : users(ready[done])) {
      if (--waiting[user] == 0) ready.push_back(user);
    }
  }
  if (static_cast<int>(ready.size()) == sections()) return;
  // Each section left needs another one of these, so following the needs reaches a cycle.
  int at = static_cast<int>(std::ranges::find_if(waiting, [](int count) { return count > 0; }) - waiting.begin());
  const auto next = [&](int section) {
    return *std::find_if(needs(section).begin(), needs(section).end(), [&](int need) { return waiting[need] > 0; });
  };
  for (int step = 0; step < sections(); ++step) at = next(at);
  const auto name = [&](int section) {
    const Slot first = slot(section * micro_batches());
    return fmt::format("the {} of stage {}", name_of(first.section), first.stage);
  };
  std::string cycle = name(at);
  const int begin = at;
  do {
    cycle += fmt::format("{} {}", at == begin ? " needs" : ", which needs", name(next(at)));
    at = next(at);
  } while (at != begin);
  throw InvalidArgument("[pipeline] stages need each other, got {}, expected no cycle", cycle);
}

void SectionGraph::set_seconds() {
  seconds_.resize(sections());
  for (int stage = 0; stage < stages(); ++stage) {
    const StageTimes times = shape_.times.empty() ? StageTimes{1, 1, 1} : shape_.times[stage];
    double* seconds = &seconds_[section(stage, StageSection::forward)];
    seconds[0] = times.forward;
    if (sections_per_stage_ == 2) seconds[1] = times.backward + times.weight;
    if (sections_per_stage_ == 3) seconds[1] = times.backward, seconds[2] = times.weight;
  }
}

}  // namespace partita
