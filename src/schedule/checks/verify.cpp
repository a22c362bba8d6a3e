// Replays the schedule on memory: every byte that an instruction reads must still hold the value that it
// expects.

#include <algorithm>

#include "schedule/checks/check_places.h"

namespace partita {
namespace {

class Replay {
 public:
  Replay(const Schedule& schedule, const LocalGraph& local)
      : schedule_(schedule),
        local_(local),
        progress_(schedule.buckets.size(), waiting),
        raw_(schedule.slots.size(), -1),
        stored_(schedule.slots.size(), -1) {
    for (size_t b = 0; b < schedule.buckets.size(); ++b) {
      for (int slot : schedule.buckets[b].slots) raw_[slot] = static_cast<int>(b);
      for (NodeId node : schedule.buckets[b].nodes) reduced_[local.graph.nodes[node].outputs[0]] = static_cast<int>(b);
    }
  }

  void run() {
    for (int slot : schedule_.entry) write(slot);
    for (int slot : schedule_.inputs) write(slot);
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      if (i == schedule_.update) begin_update();
      step(schedule_.instructions[i]);
    }
    if (schedule_.update >= schedule_.instructions.size()) begin_update();
    for (int slot : schedule_.inputs) expect(slot, "the next step");
    for (int slot : schedule_.outputs) expect(slot, "the end");
    for (size_t s = 0; s < schedule_.entry.size(); ++s) expect_stored(schedule_.entry[s], schedule_.exit[s]);
  }

 private:
  enum Progress : char { waiting, travelling, done };

  void step(const Instruction& instruction) {
    const std::string name = instruction.node >= 0 ? local_.graph.nodes[instruction.node].name : "the end";
    if (instruction.bucket >= 0) return communicate(instruction.kind, instruction.bucket, name);
    for (int slot : instruction.inputs) expect(slot, name);
    for (int slot : instruction.outputs) write(slot);
    if (instruction.kind != Instruction::copy || instruction.node >= 0) return;
    const int from = instruction.inputs[0], to = instruction.outputs[0];
    if (schedule_.slots[from].value == schedule_.slots[to].value) return;
    // The memory of a state holds its next value now: nothing may take it for the old one.
    std::erase(live_, to);
    stored_[to] = from;
  }

  /// The step may be given up, or its forward replayed: states are still old, all messages have come.
  void begin_update() {
    for (int slot : schedule_.entry) expect(slot, "the update");
    for (int slot : schedule_.inputs) expect(slot, "the update");
    for (Progress progress : progress_) PARTITA_CHECK(progress != travelling, "a bucket travels into the update");
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) {
      if (local_.graph.outputs[k].name == "loss") expect(schedule_.outputs[k], "the update");
    }
  }

  void communicate(Instruction::Kind kind, int index, const std::string& name) {
    const Bucket& bucket = schedule_.buckets[index];
    if (kind == Instruction::wait) {
      PARTITA_CHECK(progress_[index] == travelling, "bucket {} is waited for and does not travel", index);
      progress_[index] = done;
      return;
    }
    PARTITA_CHECK(progress_[index] == waiting, "bucket {} is reduced twice", index);
    for (int slot : bucket.slots) expect(slot, name);
    std::erase_if(live_, [&](int slot) {  // what lies between its slots is reduced as well
      return raw_[slot] != index && region_of(schedule_.slots[slot]).meets(region_of(bucket));
    });
    progress_[index] = kind == Instruction::start ? travelling : done;
  }

  int root(int slot) const {
    while (schedule_.slots[slot].view_of >= 0) slot = schedule_.slots[slot].view_of;
    return slot;
  }

  std::string name_of(int slot) const { return "%" + local_.graph.values[schedule_.slots[slot].value].name; }

  void write(int slot) {
    const Region written = region_of(schedule_.slots[slot]);
    for (size_t b = 0; b < progress_.size(); ++b) {
      PARTITA_CHECK(progress_[b] != travelling || !written.meets(region_of(schedule_.buckets[b])),
                    "{} is written where bucket {} travels", name_of(slot), b);
    }
    PARTITA_CHECK(raw_[slot] < 0 || progress_[raw_[slot]] == waiting, "{} is made again after its bucket",
                  name_of(slot));
    std::erase_if(live_, [&](int other) { return region_of(schedule_.slots[other]).meets(written); });
    live_.push_back(root(slot));
  }

  void expect(int slot, const std::string& reader) const {
    const int memory = root(slot);
    const bool there = std::find(live_.begin(), live_.end(), memory) != live_.end();
    PARTITA_CHECK(there, "{} reads {}, which is not there any more", reader, name_of(slot));
    if (raw_[memory] < 0) return;
    const bool wanted = wants_reduced(slot);
    PARTITA_CHECK(progress_[raw_[memory]] == (wanted ? done : waiting), "{} reads {} {} its bucket is reduced", reader,
                  name_of(slot), wanted ? "before" : "after");
  }

  bool wants_reduced(int slot) const {
    for (; slot >= 0; slot = schedule_.slots[slot].view_of) {
      if (reduced_.contains(schedule_.slots[slot].value)) return true;
    }
    return false;
  }

  void expect_stored(int entry, int exit) const {
    if (exit < 0 || root(exit) == entry) return expect(entry, "the next step");
    if (stored_[entry] == exit) return;
    expect(exit, "the next step");
    PARTITA_CHECK(schedule_.slots[exit].offset == schedule_.slots[entry].offset, "{} is not stored", name_of(entry));
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  std::vector<int> live_;           // slots whose value is in memory
  std::vector<Progress> progress_;  // per bucket
  std::vector<int> raw_;            // per slot: the bucket that reduces it, or -1
  std::vector<int> stored_;         // per slot of a state: the slot that was copied to it, or -1
  std::map<ValueId, int> reduced_;  // results of the buckets
};

}  // namespace

void verify(const Schedule& schedule, const LocalGraph& local) {
  check_places(schedule, local);
  Replay(schedule, local).run();
  for (size_t s = 0; s < schedule.entry.size(); ++s) {
    if (schedule.exit[s] < 0) continue;
    PARTITA_CHECK(schedule.slots[schedule.entry[s]].layout == schedule.slots[schedule.exit[s]].layout,
                  "state {} changes its layout", local.graph.values[schedule.slots[schedule.entry[s]].value].name);
  }
  for (const auto* list : {&schedule.inputs, &schedule.outputs}) {
    for (int slot : *list) {
      PARTITA_CHECK(schedule.slots[slot].layout.plain(), "{} is not plain",
                    local.graph.values[schedule.slots[slot].value].name);
    }
  }
}

void verify(const Schedule& schedule, const LocalGraph& local, const KernelCatalog& catalog) {
  for (const Slot& slot : schedule.slots) {
    const std::string where = "%" + local.graph.values[slot.value].name + ":" + slot.layout.tag;
    int64_t bytes = 0;
    try {
      bytes = catalog.bytes(local.largest(slot.value), slot.layout);
    } catch (const Error& error) {
      throw InvalidArgument(fmt::format(
          "[schedule] the device has no such layout, got '{}', expected one of its own: {}", where, error.what()));
    }
    if (slot.bytes == bytes && slot.layout.bytes == (slot.layout.plain() ? 0 : bytes)) continue;
    throw InvalidArgument(fmt::format("[schedule] slot {} is made for another device, got {}/{} bytes, expected {}",
                                      where, slot.bytes, slot.layout.bytes, bytes));
  }
}

}  // namespace partita
