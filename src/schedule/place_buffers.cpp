#include "schedule/place_buffers.h"

#include <algorithm>
#include <numeric>

#include "schedule/occupancy.h"

namespace partita {
namespace {

/// Slots that share memory from their beginning on.
struct Buffer {
  int64_t bytes = 0;
  size_t begin = SIZE_MAX, end = 0;  // instructions
  bool kept = false;                 // a state or an input
  bool fixed = false;                // part of a bucket: not to be merged
  int64_t offset = -1;
};

class Placer {
 public:
  explicit Placer(Schedule& schedule) : schedule_(schedule), owner_(schedule.slots.size()) {}

  void run() {
    std::iota(owner_.begin(), owner_.end(), 0);
    for (size_t s = 0; s < owner_.size(); ++s) {
      if (schedule_.slots[s].view_of >= 0) owner_[s] = find(schedule_.slots[s].view_of);
    }
    overwrite_states();
    buffers_.resize(owner_.size());
    measure();
    merge_in_place();
    place();
    for (size_t s = 0; s < owner_.size(); ++s) schedule_.slots[s].offset = buffers_[find(static_cast<int>(s))].offset;
  }

 private:
  int find(int slot) const {
    while (owner_[slot] != slot) slot = owner_[slot];
    return slot;
  }

  /// The stored value of a state takes the state's own memory where nothing reads the old value later.
  void overwrite_states() {
    const auto& list = schedule_.instructions;
    makers_.assign(owner_.size(), SIZE_MAX);
    last_readers_.assign(owner_.size(), SIZE_MAX);
    for (size_t i = 0; i < list.size(); ++i) {
      for (int slot : list[i].outputs) makers_[slot] = i;
      for (int slot : list[i].inputs) last_readers_[find(slot)] = i;
    }
    for (size_t s = 0; s < schedule_.entry.size(); ++s) {
      const int entry = schedule_.entry[s], exit = schedule_.exit[s];
      if (exit < 0 || exit == entry) continue;
      if (can_overwrite(entry, exit)) {
        owner_[exit] = entry;
      } else {
        last_readers_[find(exit)] = list.size();
        schedule_.instructions.push_back({.kind = Instruction::copy, .inputs = {exit}, .outputs = {entry}});
      }
    }
  }

  bool can_overwrite(int entry, int exit) const {
    if (find(exit) != exit) return false;
    const size_t maker = makers_[exit], reader = last_readers_[entry];
    if (maker == SIZE_MAX || maker < schedule_.update) return false;
    if (reader == SIZE_MAX || reader < maker) return true;
    if (reader > maker) return false;
    const Instruction& instruction = schedule_.instructions[maker];
    for (size_t in = 0; in < instruction.inputs.size(); ++in) {
      if (find(instruction.inputs[in]) == entry && !allows(instruction, static_cast<int>(in), exit)) return false;
    }
    return true;
  }

  static bool allows(const Instruction& instruction, int input, int output_slot) {
    return std::any_of(instruction.choice.in_place.begin(), instruction.choice.in_place.end(),
                       [&](const std::pair<int, int>& pair) {
                         return pair.first == input && instruction.outputs[pair.second] == output_slot;
                       });
  }

  void touch(int slot, size_t at) {
    Buffer& buffer = buffers_[find(slot)];
    buffer.begin = std::min(buffer.begin, at);
    buffer.end = std::max(buffer.end, at);
  }

  void measure() {
    for (size_t s = 0; s < owner_.size(); ++s) {
      Buffer& buffer = buffers_[find(static_cast<int>(s))];
      buffer.bytes = std::max(buffer.bytes, aligned(std::max<int64_t>(schedule_.slots[s].bytes, 1)));
    }
    for (const std::vector<int>* list : {&schedule_.entry, &schedule_.inputs}) {
      for (int slot : *list) buffers_[find(slot)].kept = true;
    }
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      for (int slot : instruction.inputs) touch(slot, i);
      for (int slot : instruction.outputs) touch(slot, i);
      if (instruction.bucket < 0) continue;
      for (int slot : schedule_.buckets[instruction.bucket].slots) touch(slot, i);
    }
    for (int slot : schedule_.outputs) touch(slot, schedule_.instructions.size());
    for (const Bucket& bucket : schedule_.buckets) {
      for (int slot : bucket.slots) buffers_[find(slot)].fixed = true;
    }
  }

  void merge_in_place() {
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      for (const auto& [in, out] : instruction.choice.in_place) {
        const int from = find(instruction.inputs[in]), to = find(instruction.outputs[out]);
        const Buffer &a = buffers_[from], &b = buffers_[to];
        const bool same_size =
            schedule_.slots[instruction.inputs[in]].bytes == schedule_.slots[instruction.outputs[out]].bytes;
        if (from == to || a.kept || b.kept || a.fixed || b.fixed || a.bytes != b.bytes || !same_size) continue;
        if (a.end != i || b.begin != i) continue;
        bool read_twice = false;  // another operand in the same memory would be overwritten while it is read
        for (size_t other = 0; other < instruction.inputs.size(); ++other) {
          read_twice = read_twice || (static_cast<int>(other) != in && find(instruction.inputs[other]) == from);
        }
        if (read_twice) continue;
        owner_[to] = from;
        buffers_[from].end = b.end;
      }
    }
  }

  /// Buffers that are placed together: a bucket, or one buffer.
  struct Block {
    std::vector<int> buffers;
    int64_t bytes = 0, offset = 0;
    size_t begin = SIZE_MAX, end = 0;
  };

  void place() {
    int64_t top = 0;
    std::vector<bool> done(owner_.size(), false);
    for (size_t s = 0; s < owner_.size(); ++s) {
      Buffer& buffer = buffers_[s];
      if (owner_[s] != static_cast<int>(s) || !buffer.kept) continue;
      buffer.offset = top;
      top += buffer.bytes;
      done[s] = true;
    }
    schedule_.state_bytes = top;
    std::vector<Block> blocks;
    for (const Bucket& bucket : schedule_.buckets) {
      blocks.emplace_back();
      for (int slot : bucket.slots) add(blocks.back(), find(slot), done);
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
      for (int buffer : block.buffers) {
        buffers_[buffer].offset = offset;
        offset += buffers_[buffer].bytes;
      }
    }
  }

  void add(Block& block, int buffer, std::vector<bool>& done) {
    block.buffers.push_back(buffer);
    block.bytes += buffers_[buffer].bytes;
    block.begin = std::min(block.begin, buffers_[buffer].begin);
    block.end = std::max(block.end, buffers_[buffer].end);
    done[buffer] = true;
  }

  void place_blocks(std::vector<Block>& blocks, int64_t base) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    Occupancy occupancy(schedule_.instructions.size() + 1);
    int64_t top = base;
    for (size_t index : order) {
      Block& block = blocks[index];
      // What no instruction touches needs a place, but meets nothing.
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
  std::vector<int> owner_;                     // slot -> the slot that stands for its buffer, in steps
  std::vector<Buffer> buffers_;                // by that slot
  std::vector<size_t> makers_, last_readers_;  // per slot, per buffer: instructions, or SIZE_MAX
};

}  // namespace

void place_buffers(Schedule& schedule) { Placer(schedule).run(); }

}  // namespace partita
