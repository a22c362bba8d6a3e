// Replays the schedule on memory: every byte that an instruction reads must still hold the value that it
// expects, and every slot must lie in the arena.

#include <algorithm>

#include "schedule/schedule.h"

namespace partita {
namespace {

class Replay {
 public:
  Replay(const Schedule& schedule, const LocalGraph& local) : schedule_(schedule), local_(local) {}

  void run() {
    for (const Slot& slot : schedule_.slots) {
      PARTITA_CHECK(slot.offset >= 0 && slot.offset + slot.bytes <= schedule_.arena_bytes, "a slot of {} lies outside",
                    local_.graph.values[slot.value].name);
    }
    for (int slot : schedule_.entry) write(slot);
    for (int slot : schedule_.inputs) write(slot);
    for (const Instruction& instruction : schedule_.instructions) {
      for (int slot : instruction.inputs) expect(slot, instruction);
      if (instruction.bucket >= 0) {
        for (int slot : schedule_.buckets[instruction.bucket].slots) expect(slot, instruction);
      }
      for (int slot : instruction.outputs) write(slot);
    }
    for (int slot : schedule_.outputs) expect(slot, {});
  }

 private:
  int root(int slot) const {
    while (schedule_.slots[slot].view_of >= 0) slot = schedule_.slots[slot].view_of;
    return slot;
  }

  void write(int slot) {
    const Slot& written = schedule_.slots[slot];
    std::erase_if(live_, [&](const auto& entry) {
      const Slot& other = schedule_.slots[entry];
      return other.offset < written.offset + written.bytes && written.offset < other.offset + other.bytes;
    });
    live_.push_back(root(slot));
  }

  void expect(int slot, const Instruction& instruction) const {
    const bool there = std::find(live_.begin(), live_.end(), root(slot)) != live_.end();
    PARTITA_CHECK(there, "{} reads %{}, which is not there any more",
                  instruction.node >= 0 ? local_.graph.nodes[instruction.node].name : "the end",
                  local_.graph.values[schedule_.slots[slot].value].name);
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  std::vector<int> live_;  // slots whose value is in memory
};

}  // namespace

void verify(const Schedule& schedule, const LocalGraph& local) {
  Replay(schedule, local).run();
  for (const Instruction& instruction : schedule.instructions) {
    if (instruction.kind != Instruction::collective) continue;
    const Layout& from = schedule.slots[instruction.inputs[0]].layout;
    const Layout& to = schedule.slots[instruction.outputs[0]].layout;
    PARTITA_CHECK(from == to, "{} changes the layout", local.graph.nodes[instruction.node].name);
  }
  for (size_t s = 0; s < schedule.entry.size(); ++s) {
    if (schedule.exit[s] < 0) continue;
    PARTITA_CHECK(schedule.slots[schedule.entry[s]].layout == schedule.slots[schedule.exit[s]].layout,
                  "state {} changes its layout", local.graph.values[schedule.slots[schedule.entry[s]].value].name);
  }
}

}  // namespace partita
