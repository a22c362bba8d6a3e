#include "compiler/schedule/checks/check_places.h"

#include <algorithm>
#include <set>

#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"
#include "compiler/schedule/round_in_place.h"

namespace partita {
namespace {

class Places {
 public:
  Places(const Schedule& schedule, const LocalGraph& local)
      : schedule_(schedule), local_(local), once_(read_once(schedule)), is_cache_(schedule.buffers.size(), false) {
    for (size_t s = 0; s < schedule.entry.size(); ++s) {
      if (local.graph.states[s].kind != StateKind::cache) continue;
      for (const int buffer : {schedule.entry[s], schedule.exit[s]}) {
        if (buffer >= 0) is_cache_[buffer] = true;
      }
    }
    for (const Bucket& bucket : schedule.buckets) {
      for (size_t i = 0; i < bucket.nodes.size(); ++i) packed_.emplace(bucket.nodes[i], bucket.buffers[i]);
    }
  }

  void check() const {
    PARTITA_CHECK(arena().bytes >= 0 && kept().bytes >= 0 && external().bytes >= 0 && arena().holds(kept()),
                  "the kept head lies outside");
    PARTITA_CHECK(arena().holds(scratch()), "the scratch lies outside");
    check_aligned(schedule_.scratch_offset, "the scratch");
    for (size_t s = 0; s < schedule_.buffers.size(); ++s) check_buffer(static_cast<int>(s));
    for (const auto* list : {&schedule_.entry, &schedule_.inputs}) {
      for (int buffer : *list) {
        const bool external = list == &schedule_.entry && schedule_.is_external(buffer);
        PARTITA_CHECK(external || kept().holds(region_of(schedule_.buffers[buffer])), "{} lies outside the kept head",
                      name(buffer));
      }
    }
    PARTITA_CHECK(std::ranges::is_sorted(schedule_.begins) && schedule_.update() <= schedule_.instructions.size(),
                  "sections do not follow one another");
    for (const Bucket& bucket : schedule_.buckets) check_bucket(bucket);
    for (const Instruction& instruction : schedule_.instructions) check_instruction(instruction);
  }

 private:
  Region arena() const { return {0, schedule_.arena_bytes}; }
  Region external() const { return {schedule_.arena_bytes, schedule_.external_bytes}; }
  Region kept() const { return {0, schedule_.state_bytes}; }
  Region scratch() const { return {schedule_.scratch_offset, schedule_.scratch_bytes}; }
  std::string name(int buffer) const { return "%" + local_.graph.values[schedule_.buffers[buffer].value].name; }

  static void check_aligned(int64_t offset, const std::string& what) {
    PARTITA_CHECK(offset % kAlignment == 0, "{} lies at {}, no multiple of {}", what, offset, kAlignment);
  }

  void check_buffer(int index) const {
    const Buffer& buffer = schedule_.buffers[index];
    if (schedule_.is_external(index)) {
      check_external(index);
    } else {
      PARTITA_CHECK(arena().holds(region_of(buffer)), "a buffer of {} lies outside", name(index));
    }
    PARTITA_CHECK(!region_of(buffer).meets(scratch()), "a buffer of {} lies in the scratch", name(index));
    check_aligned(buffer.offset, name(index));
    if (buffer.copies != 1) check_copies(index);
    const int64_t dense = local_.largest(buffer.value).bytes();
    PARTITA_CHECK(buffer.bytes >= std::max(dense, buffer.format.bytes), "a buffer of {} has {} bytes, its value {}",
                  name(index), buffer.bytes, std::max(dense, buffer.format.bytes));
    if (buffer.view_of >= 0) check_view(index);
  }

  /// Checks that an external buffer lies in the external memory and is a cache, a state that nothing writes, or a view;
  /// `check_view` compares the view with its base. Throws InternalError otherwise.
  void check_external(int index) const {
    const Buffer& buffer = schedule_.buffers[index];
    PARTITA_CHECK(external().holds(region_of(buffer)), "a buffer of {} lies outside", name(index));
    if (buffer.view_of >= 0 || is_cache_[index]) return;
    const auto state = std::ranges::find(schedule_.entry, index);
    PARTITA_CHECK(state != schedule_.entry.end(), "{} is external, and no state", name(index));
    PARTITA_CHECK(schedule_.exit[state - schedule_.entry.begin()] < 0, "{} is external, and written", name(index));
  }

  /// Checks that a buffer with copies is a plain input with one for each micro-batch. On a pipeline stage any buffer
  /// may have any number from 1 on. Throws InternalError otherwise.
  void check_copies(int index) const {
    const Buffer& buffer = schedule_.buffers[index];
    PARTITA_CHECK(buffer.copies >= 1, "a buffer of {} has {} copies", name(index), buffer.copies);
    if (local_.is_stage()) return;
    const bool is_input = std::ranges::find(schedule_.inputs, index) != schedule_.inputs.end();
    PARTITA_CHECK(is_input && buffer.copies == local_.mesh.micro_batches() && buffer.format.plain(),
                  "a buffer of {} has {} copies", name(index), buffer.copies);
  }

  /// Checks that a view begins where the buffer of its node's first operand does and is no larger; that of a collective
  /// must have the operand's memory format and a bucket that reduces the operand. Throws InternalError otherwise.
  void check_view(int index) const {
    const Buffer& buffer = schedule_.buffers[index];
    const Buffer& base = schedule_.buffers[buffer.view_of];
    const NodeId maker = local_.graph.values[buffer.value].producer;
    PARTITA_CHECK(buffer.view_of < index && maker >= 0 && buffer.offset == base.offset && buffer.bytes <= base.bytes &&
                      base.copies == buffer.copies,
                  "{} is no view of {}", name(index), name(buffer.view_of));
    const Node& node = local_.graph.nodes[maker];
    PARTITA_CHECK(node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0] == base.value,
                  "{} is no view of {}", name(index), name(buffer.view_of));
    if (!is_collective(node)) return;
    PARTITA_CHECK(buffer.format == base.format, "{} changes the memory format", node.name);
    PARTITA_CHECK(packed_.contains({maker, buffer.view_of}), "no bucket reduces {}", name(index));
  }

  void check_bucket(const Bucket& bucket) const {
    PARTITA_CHECK(arena().holds(region_of(bucket)) && !region_of(bucket).meets(scratch()), "a bucket lies outside");
    for (int buffer : bucket.buffers) {
      PARTITA_CHECK(region_of(bucket).holds(region_of(schedule_.buffers[buffer])), "{} lies outside its bucket",
                    name(buffer));
      PARTITA_CHECK(schedule_.buffers[buffer].view_of < 0, "{} is in a bucket, but is a view", name(buffer));
    }
  }

  /// Whether a collective that is sent in another type needs no staging.
  bool rounds_in_place(const Instruction& instruction) const {
    return instruction.choice.scratch_bytes == 0 && can_round_in_place(local_, instruction.node) &&
           once_[instruction.inputs[0]];
  }

  void check_instruction(const Instruction& instruction) const {
    PARTITA_CHECK(instruction.choice.scratch_bytes <= schedule_.scratch_bytes, "{} needs more scratch",
                  local_.graph.nodes[std::max(instruction.node, 0)].name);
    const bool collective = instruction.kind == Instruction::collective ||
                            (instruction.is_single_message() && instruction.kind == Instruction::start);
    const bool in_place = (collective || instruction.is_single_message()) && rounds_in_place(instruction);
    if (instruction.is_single_message() && !in_place) {
      PARTITA_CHECK(largest_staging(local_, instruction.node).bytes() == 0, "{} needs staging, and runs beside others",
                    local_.graph.nodes[instruction.node].name);
    }
    if (collective && !in_place) {
      const int64_t staging = largest_staging(local_, instruction.node).bytes();
      PARTITA_CHECK(instruction.choice.scratch_bytes >= staging, "{} has {} bytes of scratch for staging, it needs {}",
                    local_.graph.nodes[instruction.node].name, instruction.choice.scratch_bytes, staging);
    }
    for (const int buffer : instruction.outputs) {
      PARTITA_CHECK(!schedule_.is_external(buffer) || is_cache_[buffer], "{} is external, and written", name(buffer));
    }
    if (instruction.kind == Instruction::load) return check_load(instruction);
    if (instruction.kind == Instruction::accumulate) return check_accumulate(instruction);
    if (!collective && instruction.kind != Instruction::copy) return;
    const Buffer &from = schedule_.buffers[instruction.inputs[0]], &to = schedule_.buffers[instruction.outputs[0]];
    PARTITA_CHECK(from.format == to.format, "{} changes the memory format", name(instruction.outputs[0]));
    const bool dense = collective && !performs(local_.graph.nodes[instruction.node], Collective::all_reduce);
    PARTITA_CHECK(!dense || !region_of(from).meets(region_of(to)), "{} is made where its operand lies",
                  name(instruction.outputs[0]));
    PARTITA_CHECK(dense ? from.format.plain() : from.bytes == to.bytes, "{} does not fit {}",
                  name(instruction.inputs[0]), name(instruction.outputs[0]));
  }

  void check_load(const Instruction& instruction) const {
    const Buffer &from = schedule_.buffers[instruction.inputs[0]], &to = schedule_.buffers[instruction.outputs[0]];
    PARTITA_CHECK(from.value == to.value && from.bytes == to.bytes && from.format == to.format,
                  "{} is no copy of a micro-batch", name(instruction.outputs[0]));
  }

  void check_accumulate(const Instruction& instruction) const {
    const Node& node = local_.graph.nodes[instruction.node];
    const Buffer &from = schedule_.buffers[instruction.inputs[0]], &to = schedule_.buffers[instruction.outputs[0]];
    PARTITA_CHECK(performs(node, Collective::accumulate), "{} adds up no micro-batches", node.name);
    PARTITA_CHECK(from.format == to.format && from.bytes == to.bytes && !region_of(from).meets(region_of(to)),
                  "{} cannot be added to {}", name(instruction.inputs[0]), name(instruction.outputs[0]));
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  const std::vector<bool> once_;             // per buffer: one instruction alone reads it
  std::vector<bool> is_cache_;               // per buffer: it is that of a cache before or after the step
  std::set<std::pair<NodeId, int>> packed_;  // reductions in buckets, with the buffers of their operands
};

}  // namespace

void check_places(const Schedule& schedule, const LocalGraph& local) { Places(schedule, local).check(); }

}  // namespace partita
