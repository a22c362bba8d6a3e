// Replays the schedule on memory: every byte that an instruction reads must still hold the value that it
// expects.

#include <map>
#include <unordered_set>

#include "schedule/checks/check_places.h"

namespace partita {
namespace {

class Replay {
 public:
  Replay(const Schedule& schedule, const LocalGraph& local)
      : schedule_(schedule),
        local_(local),
        progress_(schedule.buckets.size(), waiting),
        is_live_(schedule.slots.size(), false),
        raw_(schedule.slots.size(), -1),
        stored_(schedule.slots.size(), -1) {
    for (size_t b = 0; b < schedule.buckets.size(); ++b) {
      for (int slot : schedule.buckets[b].slots) raw_[slot] = static_cast<int>(b);
      for (NodeId node : schedule.buckets[b].nodes) reduced_.insert(local.graph.nodes[node].outputs[0]);
    }
    for (size_t s = 0; s < schedule.slots.size(); ++s) {  // a view stands behind what it is a view of
      const Slot& slot = schedule.slots[s];
      root_.push_back(slot.view_of < 0 ? static_cast<int>(s) : root_[slot.view_of]);
      wants_reduced_.push_back(reduced_.contains(slot.value) || (slot.view_of >= 0 && wants_reduced_[slot.view_of]));
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
    forget(to);
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
      travelling_.erase(bucket.offset);
      return;
    }
    PARTITA_CHECK(progress_[index] == waiting, "bucket {} is reduced twice", index);
    for (int slot : bucket.slots) expect(slot, name);
    for (int slot : met_by(live_, region_of(bucket))) {  // what lies between its slots is reduced as well
      if (raw_[slot] != index) forget(slot);
    }
    progress_[index] = kind == Instruction::start ? travelling : done;
    if (kind != Instruction::start) return;
    for (int other : met_by(travelling_, region_of(bucket))) {
      PARTITA_CHECK(false, "bucket {} travels where bucket {} does", index, other);
    }
    travelling_.emplace(bucket.offset, Piece{region_of(bucket), index});
  }

  /// Disjoint pieces of the arena, each with its slot or bucket, by offset.
  struct Piece {
    Region region;
    int owner;
  };
  using Pieces = std::map<int64_t, Piece>;

  static std::vector<int> met_by(const Pieces& pieces, const Region& region) {
    std::vector<int> owners;
    auto piece = pieces.lower_bound(region.offset);
    if (piece != pieces.begin() && std::prev(piece)->second.region.meets(region)) --piece;
    for (; piece != pieces.end() && piece->first < region.offset + region.bytes; ++piece) {
      if (piece->second.region.meets(region)) owners.push_back(piece->second.owner);
    }
    return owners;
  }

  void forget(int slot) {
    if (!is_live_[slot]) return;
    is_live_[slot] = false;
    live_.erase(schedule_.slots[slot].offset);
  }

  int root(int slot) const { return root_[slot]; }

  std::string name_of(int slot) const { return "%" + local_.graph.values[schedule_.slots[slot].value].name; }

  void write(int slot) {
    const Region written = region_of(schedule_.slots[slot]);
    for (int bucket : met_by(travelling_, written)) {
      PARTITA_CHECK(false, "{} is written where bucket {} travels", name_of(slot), bucket);
    }
    PARTITA_CHECK(raw_[slot] < 0 || progress_[raw_[slot]] == waiting, "{} is made again after its bucket",
                  name_of(slot));
    const int memory = root(slot);  // of a view all of the memory that it is a part of
    const Region taken = region_of(schedule_.slots[memory]);
    for (int other : met_by(live_, taken)) forget(other);
    is_live_[memory] = true;
    live_.emplace(taken.offset, Piece{taken, memory});
  }

  void expect(int slot, const std::string& reader) const {
    const int memory = root(slot);
    PARTITA_CHECK(is_live_[memory], "{} reads {}, which is not there any more", reader, name_of(slot));
    if (raw_[memory] < 0) return;
    const bool wanted = wants_reduced_[slot];
    PARTITA_CHECK(progress_[raw_[memory]] == (wanted ? done : waiting), "{} reads {} {} its bucket is reduced", reader,
                  name_of(slot), wanted ? "before" : "after");
  }

  void expect_stored(int entry, int exit) const {
    if (exit < 0 || root(exit) == entry) return expect(entry, "the next step");
    if (stored_[entry] == exit) return;
    expect(exit, "the next step");
    PARTITA_CHECK(schedule_.slots[exit].offset == schedule_.slots[entry].offset, "{} is not stored", name_of(entry));
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  Pieces live_;                          // slots whose value is in memory
  Pieces travelling_;                    // buckets
  std::vector<Progress> progress_;       // per bucket
  std::vector<bool> is_live_;            // per slot
  std::vector<int> raw_;                 // per slot: the bucket that reduces it, or -1
  std::vector<int> stored_;              // per slot of a state: the slot that was copied to it, or -1
  std::vector<int> root_;                // per slot: the one whose memory it is
  std::vector<bool> wants_reduced_;      // per slot: the result of a bucket, or a view of one
  std::unordered_set<ValueId> reduced_;  // results of the buckets
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
