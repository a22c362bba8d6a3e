#include "schedule/checks/check_places.h"

#include <algorithm>
#include <set>

#include "partition/collectives.h"
#include "partition/exchange.h"

namespace partita {
namespace {

class Places {
 public:
  Places(const Schedule& schedule, const LocalGraph& local) : schedule_(schedule), local_(local) {
    for (const Bucket& bucket : schedule.buckets) {
      for (size_t i = 0; i < bucket.nodes.size(); ++i) packed_.emplace(bucket.nodes[i], bucket.slots[i]);
    }
  }

  void check() const {
    PARTITA_CHECK(arena().bytes >= 0 && kept().bytes >= 0 && arena().holds(kept()), "the kept head lies outside");
    PARTITA_CHECK(arena().holds(scratch()), "the scratch lies outside");
    check_aligned(schedule_.scratch_offset, "the scratch");
    for (size_t s = 0; s < schedule_.slots.size(); ++s) check_slot(static_cast<int>(s));
    for (const auto* list : {&schedule_.entry, &schedule_.inputs}) {
      for (int slot : *list) {
        PARTITA_CHECK(kept().holds(region_of(schedule_.slots[slot])), "{} lies outside the kept head", name(slot));
      }
    }
    for (const Bucket& bucket : schedule_.buckets) check_bucket(bucket);
    for (const Instruction& instruction : schedule_.instructions) check_instruction(instruction);
  }

 private:
  Region arena() const { return {0, schedule_.arena_bytes}; }
  Region kept() const { return {0, schedule_.state_bytes}; }
  Region scratch() const { return {schedule_.scratch_offset, schedule_.scratch_bytes}; }
  std::string name(int slot) const { return "%" + local_.graph.values[schedule_.slots[slot].value].name; }

  static void check_aligned(int64_t offset, const std::string& what) {
    PARTITA_CHECK(offset % kAlignment == 0, "{} lies at {}, no multiple of {}", what, offset, kAlignment);
  }

  void check_slot(int index) const {
    const Slot& slot = schedule_.slots[index];
    PARTITA_CHECK(arena().holds(region_of(slot)), "a slot of {} lies outside", name(index));
    PARTITA_CHECK(!region_of(slot).meets(scratch()), "a slot of {} lies in the scratch", name(index));
    check_aligned(slot.offset, name(index));
    const int64_t dense = local_.largest(slot.value).bytes();
    PARTITA_CHECK(slot.bytes >= std::max(dense, slot.layout.bytes), "a slot of {} has {} bytes, its value {}",
                  name(index), slot.bytes, std::max(dense, slot.layout.bytes));
    if (slot.view_of >= 0) check_view(index);
  }

  /// The memory of the operand of its node, or of the operand that its bucket reduces.
  void check_view(int index) const {
    const Slot& slot = schedule_.slots[index];
    const Slot& base = schedule_.slots[slot.view_of];
    const NodeId maker = local_.graph.values[slot.value].producer;
    PARTITA_CHECK(slot.view_of < index && maker >= 0 && slot.offset == base.offset && slot.bytes <= base.bytes,
                  "{} is no view of {}", name(index), name(slot.view_of));
    const Node& node = local_.graph.nodes[maker];
    PARTITA_CHECK(node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0] == base.value,
                  "{} is no view of {}", name(index), name(slot.view_of));
    if (!is_collective(node)) return;
    PARTITA_CHECK(slot.layout == base.layout, "{} changes the layout", node.name);
    PARTITA_CHECK(packed_.contains({maker, slot.view_of}), "no bucket reduces {}", name(index));
  }

  void check_bucket(const Bucket& bucket) const {
    PARTITA_CHECK(arena().holds(region_of(bucket)) && !region_of(bucket).meets(scratch()), "a bucket lies outside");
    for (int slot : bucket.slots) {
      PARTITA_CHECK(region_of(bucket).holds(region_of(schedule_.slots[slot])), "{} lies outside its bucket",
                    name(slot));
      PARTITA_CHECK(schedule_.slots[slot].view_of < 0, "{} is in a bucket, but is a view", name(slot));
    }
  }

  void check_instruction(const Instruction& instruction) const {
    PARTITA_CHECK(instruction.choice.scratch_bytes <= schedule_.scratch_bytes, "{} needs more scratch",
                  local_.graph.nodes[std::max(instruction.node, 0)].name);
    if (instruction.kind == Instruction::collective) {
      const int64_t staging = largest_staging(local_, instruction.node).bytes();
      PARTITA_CHECK(instruction.choice.scratch_bytes >= staging, "{} has {} bytes of scratch for staging, it needs {}",
                    local_.graph.nodes[instruction.node].name, instruction.choice.scratch_bytes, staging);
    }
    if (instruction.kind != Instruction::collective && instruction.kind != Instruction::copy) return;
    const Slot &from = schedule_.slots[instruction.inputs[0]], &to = schedule_.slots[instruction.outputs[0]];
    PARTITA_CHECK(from.layout == to.layout, "{} changes the layout", name(instruction.outputs[0]));
    const bool dense = instruction.kind == Instruction::collective &&
                       !performs(local_.graph.nodes[instruction.node], Collective::all_reduce);
    PARTITA_CHECK(!dense || !region_of(from).meets(region_of(to)), "{} is made where its operand lies",
                  name(instruction.outputs[0]));
    PARTITA_CHECK(dense ? from.layout.plain() : from.bytes == to.bytes, "{} does not fit {}",
                  name(instruction.inputs[0]), name(instruction.outputs[0]));
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  std::set<std::pair<NodeId, int>> packed_;  // reductions in buckets, with the slots of their operands
};

}  // namespace

void check_places(const Schedule& schedule, const LocalGraph& local) { Places(schedule, local).check(); }

}  // namespace partita
