#include "compiler/schedule/place_buffers.h"

#include <algorithm>
#include <numeric>

#include "compiler/partition/collectives.h"
#include "compiler/schedule/occupancy.h"

namespace partita {
namespace {

/// Memory of one buffer, or of several that share its beginning.
struct Allocation {
  int64_t bytes = 0;
  size_t begin = SIZE_MAX, end = 0;  // instructions
  bool kept = false;                 // a state or an input
  bool external = false;             // a state in another arena
  bool fixed = false;                // part of a bucket: not merged with others
  int64_t offset = -1;
};

class Placer {
 public:
  Placer(Schedule& schedule, const LocalGraph& local, const ExternalStates& external)
      : schedule_(schedule), local_(local), external_(external), owner_(schedule.buffers.size()) {}

  void run() {
    std::iota(owner_.begin(), owner_.end(), 0);
    for (size_t s = 0; s < owner_.size(); ++s) {
      if (schedule_.buffers[s].view_of >= 0) owner_[s] = find(schedule_.buffers[s].view_of);
    }
    overwrite_states();
    allocations_.resize(owner_.size());
    measure();
    merge_in_place();
    place();
    for (size_t s = 0; s < owner_.size(); ++s)
      schedule_.buffers[s].offset = allocations_[find(static_cast<int>(s))].offset;
  }

 private:
  int find(int buffer) const {
    while (owner_[buffer] != buffer) buffer = owner_[buffer];
    return buffer;
  }

  /// Gives the new value of each state that is written the state's own memory, if an instruction of the update, or for
  /// a cache any one, makes it, no later one reads the old value, and this one reads it in place if at all; else adds a
  /// copy at the end. Sets `makers_` and `last_readers_`.
  void overwrite_states() {
    const auto& list = schedule_.instructions;
    makers_.assign(owner_.size(), SIZE_MAX);
    last_readers_.assign(owner_.size(), SIZE_MAX);
    for (size_t i = 0; i < list.size(); ++i) {
      for (int buffer : list[i].outputs) makers_[buffer] = i;
      for (int buffer : list[i].inputs) last_readers_[find(buffer)] = i;
    }
    for (size_t s = 0; s < schedule_.entry.size(); ++s) {
      const int entry = schedule_.entry[s], exit = schedule_.exit[s];
      if (exit < 0 || exit == entry) continue;
      if (can_overwrite(entry, exit, local_.graph.states[s].kind)) {
        owner_[exit] = entry;
      } else {
        last_readers_[find(exit)] = list.size();
        schedule_.instructions.push_back({.kind = Instruction::copy, .inputs = {exit}, .outputs = {entry}});
      }
    }
  }

  bool can_overwrite(int entry, int exit, StateKind kind) const {
    if (find(exit) != exit) return false;
    const size_t maker = makers_[exit], reader = last_readers_[entry];
    const bool is_final = maker != SIZE_MAX && maker >= schedule_.update();
    // No step with a cache is repeated, so that the forward pass may write it.
    const bool is_cache = kind == StateKind::cache && maker != SIZE_MAX && local_.mesh.micro_batches() == 1;
    if (!is_final && !is_cache) return false;
    if (reader == SIZE_MAX || reader < maker) return true;
    if (reader > maker) return false;
    const Instruction& instruction = schedule_.instructions[maker];
    for (size_t in = 0; in < instruction.inputs.size(); ++in) {
      if (find(instruction.inputs[in]) == entry && !allows(instruction, static_cast<int>(in), exit)) return false;
    }
    return true;
  }

  static bool allows(const Instruction& instruction, int input, int output_buffer) {
    return std::ranges::any_of(instruction.choice.in_place, [&](const std::pair<int, int>& pair) {
      return pair.first == input && instruction.outputs[pair.second] == output_buffer;
    });
  }

  void touch(int buffer, size_t at) {
    Allocation& allocation = allocations_[find(buffer)];
    allocation.begin = std::min(allocation.begin, at);
    allocation.end = std::max(allocation.end, at);
  }

  void measure() {
    for (size_t s = 0; s < owner_.size(); ++s) {
      Allocation& allocation = allocations_[find(static_cast<int>(s))];
      allocation.bytes = std::max(allocation.bytes, aligned(std::max<int64_t>(schedule_.buffers[s].bytes_of_all(), 1)));
    }
    for (const std::vector<int>* list : {&schedule_.entry, &schedule_.inputs}) {
      for (int buffer : *list) allocations_[find(buffer)].kept = true;
    }
    for (size_t s = 0; s < external_.size(); ++s) {
      if (external_[s]) allocations_[find(schedule_.entry[s])].external = true;
    }
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      for (int buffer : instruction.inputs) touch(buffer, i);
      for (int buffer : instruction.outputs) touch(buffer, i);
      if (instruction.bucket < 0) continue;
      for (int buffer : schedule_.buckets[instruction.bucket].buffers) touch(buffer, i);
    }
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) touch(schedule_.outputs[k], last_use_of_output(k));
    keep_between_micro_batches(schedule_.begin(Section::prologue), schedule_.end(Section::prologue));
    keep_between_micro_batches(schedule_.micro_begin(), schedule_.micro_end());
    for (const Bucket& bucket : schedule_.buckets) {
      for (int buffer : bucket.buffers) allocations_[find(buffer)].fixed = true;
    }
  }

  /// Returns the instruction up to which an output stays in memory. For one that an instruction makes for another
  /// stage, it is the end of that instruction's section, or the update if it is made outside of the micro-batches or
  /// sent with the verdict. For others it is the end of the step.
  size_t last_use_of_output(size_t output) const {
    const Output& given = local_.graph.outputs[output];
    const int buffer = schedule_.outputs[output];
    if (given.to_stages.empty() || makers_[buffer] == SIZE_MAX) return schedule_.instructions.size();
    if (given.verdict || !schedule_.in_micro_batch(makers_[buffer])) return schedule_.update();
    return schedule_.end(schedule_.section_of(makers_[buffer]));  // after its last instruction
  }

  /// Extends lifetimes over all micro-batches of the loop of instructions [begin, end). Buffers made before the loop
  /// that it reads live to its end. Buffers that one of its sections makes and another reads, and those in which it
  /// accumulates or stacks the results of micro-batches, live from its begin to its end.
  void keep_between_micro_batches(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      const size_t section = schedule_.begin(schedule_.section_of(i));
      for (int buffer : instruction.inputs) {
        Allocation& found = allocations_[find(buffer)];
        if (found.begin < begin) found.end = std::max(found.end, end);
        if (found.begin < begin || found.begin >= section) continue;
        found.begin = begin;  // another section has made it, in this micro-batch or others
        found.end = std::max(found.end, end);
      }
      if (instruction.kind != Instruction::accumulate && !is_stack(instruction)) continue;
      Allocation& left = allocations_[find(instruction.outputs[0])];
      left.begin = std::min(left.begin, begin);
      left.end = std::max(left.end, end);
    }
  }

  bool is_stack(const Instruction& instruction) const {
    return instruction.kind == Instruction::collective &&
           performs(local_.graph.nodes[instruction.node], Collective::stack);
  }

  void merge_in_place() {
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      for (const auto& [in, out] : instruction.choice.in_place) {
        const int from = find(instruction.inputs[in]), to = find(instruction.outputs[out]);
        const Allocation &a = allocations_[from], &b = allocations_[to];
        const bool same_size =
            schedule_.buffers[instruction.inputs[in]].bytes == schedule_.buffers[instruction.outputs[out]].bytes;
        if (from == to || a.kept || b.kept || a.fixed || b.fixed || a.bytes != b.bytes || !same_size) continue;
        if (a.end != i || b.begin != i) continue;
        bool read_twice = false;  // another operand in the same memory would be overwritten while it is read
        for (size_t other = 0; other < instruction.inputs.size(); ++other) {
          read_twice = read_twice || (static_cast<int>(other) != in && find(instruction.inputs[other]) == from);
        }
        if (read_twice) continue;
        owner_[to] = from;
        allocations_[from].end = b.end;
      }
    }
  }

  /// Allocations that are placed together: those of a bucket, or a single one.
  struct Block {
    std::vector<int> allocations;
    int64_t bytes = 0, offset = 0;
    size_t begin = SIZE_MAX, end = 0;
  };

  void place() {
    int64_t top = 0;
    std::vector<bool> done(owner_.size(), false);
    for (size_t s = 0; s < owner_.size(); ++s) {
      Allocation& allocation = allocations_[s];
      if (owner_[s] != static_cast<int>(s) || !allocation.kept) continue;
      done[s] = true;
      if (allocation.external) continue;
      allocation.offset = top;
      top += allocation.bytes;
    }
    schedule_.state_bytes = top;
    std::vector<Block> blocks;
    for (const Bucket& bucket : schedule_.buckets) {
      blocks.emplace_back();
      for (int buffer : bucket.buffers) add(blocks.back(), find(buffer), done);
    }
    const size_t bucket_count = blocks.size();
    for (size_t s = 0; s < owner_.size(); ++s) {
      if (owner_[s] != static_cast<int>(s) || done[s]) continue;
      blocks.emplace_back();
      add(blocks.back(), static_cast<int>(s), done);
    }
    place_blocks(blocks, top);
    for (size_t b = 0; b < bucket_count; ++b) {
      schedule_.buckets[b].offset = blocks[b].offset;
      schedule_.buckets[b].bytes = blocks[b].bytes;
    }
    for (const Block& block : blocks) {
      int64_t offset = block.offset;
      for (int allocation : block.allocations) {
        allocations_[allocation].offset = offset;
        offset += allocations_[allocation].bytes;
      }
    }
    for (Allocation& allocation : allocations_) {
      if (!allocation.external) continue;
      allocation.offset = schedule_.arena_bytes + schedule_.external_bytes;
      schedule_.external_bytes += allocation.bytes;
    }
  }

  void add(Block& block, int allocation, std::vector<bool>& done) {
    block.allocations.push_back(allocation);
    block.bytes += allocations_[allocation].bytes;
    block.begin = std::min(block.begin, allocations_[allocation].begin);
    block.end = std::max(block.end, allocations_[allocation].end);
    done[allocation] = true;
  }

  void place_blocks(std::vector<Block>& blocks, int64_t base) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    Occupancy occupancy(schedule_.instructions.size() + 1);
    int64_t top = base;
    for (size_t index : order) {
      Block& block = blocks[index];
      // A buffer that no instruction uses needs an offset, but overlaps nothing.
      const bool used = block.begin <= block.end;
      block.offset = used ? occupancy.take({block.begin, block.end}, base, block.bytes) : base;
      top = std::max(top, block.offset + block.bytes);
    }
    schedule_.scratch_offset = top;
    for (const Instruction& instruction : schedule_.instructions) {
      schedule_.scratch_bytes = std::max(schedule_.scratch_bytes, aligned(instruction.choice.scratch_bytes));
    }
    schedule_.arena_bytes = top + schedule_.scratch_bytes;
  }

  Schedule& schedule_;
  const LocalGraph& local_;
  const ExternalStates& external_;
  std::vector<int> owner_;  // per buffer: another buffer of its allocation; following it leads to the representative
  std::vector<Allocation> allocations_;        // per representative buffer
  std::vector<size_t> makers_, last_readers_;  // per buffer and per allocation: an instruction, or SIZE_MAX
};

}  // namespace

void place_buffers(Schedule& schedule, const LocalGraph& local, const ExternalStates& external) {
  Placer(schedule, local, external).run();
}

}  // namespace partita
