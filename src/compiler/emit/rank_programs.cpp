#include "compiler/emit/rank_programs.h"

#include <algorithm>
#include <map>

#include "compiler/emit/emit_collective.h"

namespace partita {
namespace {

/// Collects the programs of a rank, each text once.
class RankCollector {
 public:
  RankCollector(const OpSet& ops, int64_t rank, CollectiveMode mode, Guarding guarding)
      : ops_(ops), rank_(rank), mode_(mode), guarding_(guarding) {}

  void add_stage(int index, const StageProgram& stage, const std::vector<size_t>& borders) {
    const CollectiveMode mode = stage.local.mesh.ranks() > 1 ? mode_ : CollectiveMode::cut;
    if (mode == CollectiveMode::whole) require_whole(stage.local);
    const Segmenter segmenter(stage.schedule, stage.local, ops_, mode, guarding_);
    const std::vector<Segment> segments = segmenter.segments(borders);
    const std::vector<HeldBytes> held = held_bytes(segmenter, segments, stage.local.mesh.coordinates(rank_));
    for (size_t i = 0; i < segments.size(); ++i) {
      add_segment(index, stage, segments[i], held[i], segmenter.modules_of(segments[i], rank_));
    }
    states_ += held.empty() ? 0 : held.front().states;
    for (const Instruction& instruction : stage.schedule.instructions) {
      if (segmenter.in_program(instruction)) continue;
      found_.host_ops += instruction.kind == Instruction::compute ? 1 : 0;
      found_.messages += instruction.kind == Instruction::start || instruction.kind == Instruction::collective ||
                         instruction.kind == Instruction::reduce;
    }
  }
  RankPrograms take() {
    for (RankProgram& program : found_.programs) program.held.states = states_;
    return std::move(found_);
  }

 private:
  void add_segment(int index, const StageProgram& stage, const Segment& segment, const HeldBytes& held,
                   std::vector<std::string> texts) {
    const Schedule& schedule = stage.schedule;
    std::vector<std::string> names;
    int64_t ops = 0;
    for (size_t i = segment.begin; i < segment.end; ++i) {
      const Instruction& instruction = schedule.instructions[i];
      if (instruction.node >= 0) names.push_back(stage.local.graph.nodes[instruction.node].name);
      ops += instruction.kind == Instruction::copy ? 0 : 1;
    }
    for (std::string& text : texts) {
      const auto [at, is_new] = by_text_.emplace(text, found_.programs.size());
      if (!is_new) {
        RankProgram& known = found_.programs[at->second];
        ++known.segments;
        known.held.values = std::max(known.held.values, held.values);
        continue;
      }
      RankProgram& program = found_.programs.emplace_back();
      program.stage = index;
      program.section = schedule.section_of(segment.begin);
      program.first = names.empty() ? "" : names.front();
      program.last = names.empty() ? "" : names.back();
      program.ops = ops;
      program.held = held;
      if (mode_ == CollectiveMode::whole) program.replicas = stage.local.mesh.ranks();
      program.text = std::move(text);
    }
  }

  const OpSet& ops_;
  const int64_t rank_;
  const CollectiveMode mode_;
  const Guarding guarding_;
  RankPrograms found_;
  int64_t states_ = 0;  // bytes of all stages
  std::map<std::string, size_t> by_text_;
};

}  // namespace

RankPrograms programs_of_rank(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops,
                              int64_t rank, CollectiveMode mode) {
  PARTITA_CHECK(rank >= 0 && rank < pipeline.ranks(), "rank {} of {}", rank, pipeline.ranks());
  const auto group = std::ranges::find_if(pipeline.groups, [&](const RankGroup& one) { return one.contains(rank); });
  RankCollector collector(ops, rank - group->first, mode, guarding_of(stages));
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    if (!pipeline.group_of(static_cast<int>(stage)).contains(rank)) continue;
    collector.add_stage(static_cast<int>(stage), stages[stage], borders_of(pipeline, stages, stage));
  }
  RankPrograms found = collector.take();
  found.sent = std::ranges::count_if(pipeline.transfers, [&](const Transfer& transfer) {
    return !transfer.verdict && pipeline.group_of(transfer.from_stage).contains(rank) &&
           !pipeline.group_of(transfer.to_stage).contains(rank);
  });
  return found;
}

}  // namespace partita
