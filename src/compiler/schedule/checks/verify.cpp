// Replays a schedule on memory. Every byte that an instruction reads must still hold the value that it expects.

#include <map>
#include <unordered_set>

#include "compiler/partition/collectives.h"
#include "compiler/partition/transfers.h"
#include "compiler/schedule/checks/check_places.h"
#include "compiler/schedule/checks/check_sections.h"

namespace partita {
namespace {

/// Collectives in flight. Until they are waited for, nothing may write their operands or results, or read their
/// results.
class MessagesInFlight {
 public:
  bool empty() const { return regions_.empty(); }
  void start(NodeId node, const Region& read, const Region& made, const std::string& name) {
    PARTITA_CHECK(regions_.emplace(node, std::pair{read, made}).second, "{} is started twice", name);
  }
  void finish(NodeId node, const std::string& name) {
    PARTITA_CHECK(regions_.erase(node) == 1, "{} is waited for and was not started", name);
  }
  void require_readable(const Region& region, const std::string& reader, const std::string& what) const {
    for (const auto& [node, regions] : regions_) {
      PARTITA_CHECK(!regions.second.meets(region), "{} reads {}, which is in flight", reader, what);
    }
  }
  void require_writable(const Region& region, const std::string& what) const {
    for (const auto& [node, regions] : regions_) {
      PARTITA_CHECK(!region.meets(regions.first) && !region.meets(regions.second),
                    "{} is made where a collective is in flight", what);
    }
  }

 private:
  std::map<NodeId, std::pair<Region, Region>> regions_;  // operand and result
};

class Replay {
 public:
  Replay(const Schedule& schedule, const LocalGraph& local)
      : schedule_(schedule),
        local_(local),
        progress_(schedule.buckets.size(), waiting),
        is_live_(schedule.buffers.size(), false),
        raw_(schedule.buffers.size(), -1),
        stored_(schedule.buffers.size(), -1),
        root_(roots_of(schedule)) {
    for (size_t b = 0; b < schedule.buckets.size(); ++b) {
      for (int buffer : schedule.buckets[b].buffers) raw_[buffer] = static_cast<int>(b);
      for (NodeId node : schedule.buckets[b].nodes) reduced_.insert(local.graph.nodes[node].outputs[0]);
    }
    for (const Buffer& buffer : schedule.buffers) {  // a view comes after its base
      wants_reduced_.push_back(reduced_.contains(buffer.value) ||
                               (buffer.view_of >= 0 && wants_reduced_[buffer.view_of]));
    }
    if (!local.is_stage()) return;
    const std::vector<Section> sections = sections_of(local);
    for (size_t k = 0; k < schedule.outputs.size(); ++k) {
      sent_in_.push_back(section_of_output(local, sections, k));
      const NodeId producer = local.graph.values[local.graph.outputs[k].value].producer;
      is_sum_.push_back(producer >= 0 && joins_micro_batches(local.graph.nodes[producer]));
    }
  }

  void run() {
    for (int buffer : schedule_.entry) write(buffer);
    for (int buffer : schedule_.inputs) write(buffer);
    play(0, schedule_.end(Section::once));
    if (schedule_.begin(Section::prologue) < schedule_.end(Section::prologue)) play_each({Section::prologue});
    play(schedule_.begin(Section::joined), schedule_.end(Section::joined));
    if (schedule_.micro_begin() < schedule_.micro_end()) {
      play_each({Section::micro, Section::backward, Section::weight});
    }
    expect_sent(Section::late, /*sums=*/true);
    play(schedule_.micro_end(), schedule_.instructions.size());
    if (schedule_.update() >= schedule_.instructions.size()) begin_update();
    PARTITA_CHECK(messages_.empty(), "a collective is in flight at the end");
    for (int buffer : schedule_.inputs) expect(buffer, "the next step");
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) {
      if (local_.graph.outputs[k].to_stages.empty()) expect(schedule_.outputs[k], "the end");
    }
    for (size_t s = 0; s < schedule_.entry.size(); ++s) expect_stored(schedule_.entry[s], schedule_.exit[s]);
  }

 private:
  enum Progress : char { waiting, in_flight, done };

  /// Replays the sections in turn, each for a first and a last micro-batch before the next section, or once if there is
  /// only one; micro-batches in between find the memory as the second does. Not by micro-batch, since on a pipeline
  /// stage others may run between two sections of one. Throws InternalError for what `verify` refuses.
  void play_each(const std::vector<Section>& sections) {
    const bool is_only = local_.mesh.micro_batches() == 1;
    for (const Section section : sections) {
      const size_t begin = schedule_.begin(section), end = schedule_.end(section);
      for (const bool last : {false, true}) {
        if (is_only && !last) continue;
        is_first_ = is_only || !last;
        is_last_ = last;
        begin_micro_batch(begin, end);
        play(begin, end);
        expect_sent(section);
      }
    }
  }

  /// Checks that what `section` makes for other stages is in memory now: for `update`, the values that are sent with
  /// the verdict, for other sections the rest. `sums`: of the rest, only sums over micro-batches, which are sent where
  /// the late section begins, else all but these. Throws InternalError otherwise.
  void expect_sent(Section section, bool sums = false) const {
    for (size_t k = 0; k < sent_in_.size(); ++k) {
      const Output& output = local_.graph.outputs[k];
      if (output.to_stages.empty() || output.verdict != (section == Section::update)) continue;
      if (!output.verdict && is_sum_[k] != sums) continue;
      if (output.verdict || sent_in_[k] == section) expect(schedule_.outputs[k], "another stage");
    }
  }

  void play(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (i == schedule_.update()) begin_update();
      if (!schedule_.instructions[i].last || is_last_) step(schedule_.instructions[i]);
    }
  }

  /// Resets the buckets that the instructions [begin, end) reduce in every micro-batch.
  void begin_micro_batch(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      if (instruction.bucket >= 0 && !instruction.last) progress_[instruction.bucket] = waiting;
    }
  }

  /// Whether every micro-batch writes a part of the result, or adds to it, and finds what earlier ones left.
  bool joins(const Instruction& instruction) const {
    return instruction.kind == Instruction::accumulate ||
           (instruction.kind == Instruction::collective && joins_micro_batches(local_.graph.nodes[instruction.node]));
  }

  void step(const Instruction& instruction) {
    const std::string name = instruction.node >= 0 ? local_.graph.nodes[instruction.node].name : "the end";
    if (instruction.bucket >= 0) return communicate(instruction.kind, instruction.bucket, name);
    if (instruction.is_single_message()) return communicate(instruction, name);
    for (int buffer : instruction.inputs) expect(buffer, name);
    for (int buffer : instruction.outputs) {
      if (joins(instruction) && !is_first_) {
        expect(buffer, name);
      } else {
        write(buffer);
      }
    }
    if (instruction.kind != Instruction::copy || instruction.node >= 0) return;
    const int from = instruction.inputs[0], to = instruction.outputs[0];
    if (schedule_.buffers[from].value == schedule_.buffers[to].value) return;
    // The memory of a state now holds its next value; nothing may read it as the old one.
    invalidate(to);
    stored_[to] = from;
  }

  /// Checks what a step that is given up, or replayed, needs: states but for caches and inputs are still as at the
  /// beginning, the loss and what other stages receive are in memory, and no message is in flight. Throws InternalError
  /// otherwise.
  void begin_update() {
    for (size_t s = 0; s < schedule_.entry.size(); ++s) {
      if (local_.graph.states[s].kind != StateKind::cache) expect(schedule_.entry[s], "the update");
    }
    for (int buffer : schedule_.inputs) expect(buffer, "the update");
    for (const Section section : {Section::once, Section::late, Section::update}) expect_sent(section);
    for (Progress progress : progress_) PARTITA_CHECK(progress != in_flight, "a bucket is in flight at the update");
    PARTITA_CHECK(messages_.empty(), "a collective is in flight at the update");
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) {
      if (local_.graph.outputs[k].name == "loss") expect(schedule_.outputs[k], "the update");
    }
  }

  void communicate(const Instruction& instruction, const std::string& name) {
    for (int buffer : instruction.inputs) {
      if (instruction.kind == Instruction::start) expect(buffer, name);
    }
    if (instruction.kind == Instruction::wait) return messages_.finish(instruction.node, name);
    for (int buffer : instruction.outputs) write(buffer);
    const auto region = [&](int buffer) { return region_of(schedule_.buffers[root(buffer)]); };
    messages_.start(instruction.node, region(instruction.inputs[0]), region(instruction.outputs[0]), name);
  }

  void communicate(Instruction::Kind kind, int index, const std::string& name) {
    const Bucket& bucket = schedule_.buckets[index];
    if (kind == Instruction::wait) {
      PARTITA_CHECK(progress_[index] == in_flight, "bucket {} is waited for and was not started", index);
      progress_[index] = done;
      in_flight_.erase(bucket.offset);
      return;
    }
    PARTITA_CHECK(progress_[index] == waiting, "bucket {} is reduced twice", index);
    for (int buffer : bucket.buffers) expect(buffer, name);
    for (int buffer : met_by(live_, region_of(bucket))) {  // gaps between its buffers are reduced as well
      if (raw_[buffer] != index) invalidate(buffer);
    }
    progress_[index] = kind == Instruction::start ? in_flight : done;
    if (kind != Instruction::start) return;
    for (int other : met_by(in_flight_, region_of(bucket))) {
      PARTITA_CHECK(false, "bucket {} is reduced in memory of bucket {}, which is in flight", index, other);
    }
    in_flight_.emplace(bucket.offset, Piece{region_of(bucket), index});
  }

  /// Disjoint parts of the arena by offset, each with its buffer or bucket.
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

  void invalidate(int buffer) {
    if (!is_live_[buffer]) return;
    is_live_[buffer] = false;
    live_.erase(schedule_.buffers[buffer].offset);
  }

  int root(int buffer) const { return root_[buffer]; }

  std::string name_of(int buffer) const { return "%" + local_.graph.values[schedule_.buffers[buffer].value].name; }

  void write(int buffer) {
    const Region written = region_of(schedule_.buffers[buffer]);
    for (int bucket : met_by(in_flight_, written)) {
      PARTITA_CHECK(false, "{} is written in memory of bucket {}, which is in flight", name_of(buffer), bucket);
    }
    PARTITA_CHECK(raw_[buffer] < 0 || progress_[raw_[buffer]] == waiting, "{} is made again after its bucket",
                  name_of(buffer));
    const int memory = root(buffer);  // a view takes all of its root's memory
    const Region taken = region_of(schedule_.buffers[memory]);
    messages_.require_writable(taken, name_of(buffer));
    for (int other : met_by(live_, taken)) invalidate(other);
    is_live_[memory] = true;
    live_.emplace(taken.offset, Piece{taken, memory});
  }

  void expect(int buffer, const std::string& reader) const {
    const int memory = root(buffer);
    messages_.require_readable(region_of(schedule_.buffers[memory]), reader, name_of(buffer));
    PARTITA_CHECK(is_live_[memory], "{} reads {}, which is not there any more", reader, name_of(buffer));
    if (raw_[memory] < 0) return;
    const bool wanted = wants_reduced_[buffer];
    PARTITA_CHECK(progress_[raw_[memory]] == (wanted ? done : waiting), "{} reads {} {} its bucket is reduced", reader,
                  name_of(buffer), wanted ? "before" : "after");
  }

  void expect_stored(int entry, int exit) const {
    if (exit < 0 || root(exit) == entry) return expect(entry, "the next step");
    if (stored_[entry] == exit) return;
    expect(exit, "the next step");
    PARTITA_CHECK(schedule_.buffers[exit].offset == schedule_.buffers[entry].offset, "{} is not stored",
                  name_of(entry));
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  bool is_first_ = true, is_last_ = false;  // whether the current micro-batch is the first or the last of two
  Pieces live_;                             // buffers whose value is in memory
  Pieces in_flight_;                        // buckets
  MessagesInFlight messages_;               // collectives without a bucket
  std::vector<Progress> progress_;          // per bucket
  std::vector<bool> is_live_;               // per buffer
  std::vector<int> raw_;                    // per buffer: the bucket that reduces it, or -1
  std::vector<int> stored_;                 // per buffer of a state: the buffer that was copied to it, or -1
  std::vector<int> root_;                   // per buffer: the one whose memory it shares
  std::vector<Section> sent_in_;            // per output of a stage
  std::vector<bool> is_sum_;             // per output of a stage: whether it is a sum over micro-batches, sent directly
  std::vector<bool> wants_reduced_;      // per buffer: whether it is the result of a bucket, or a view of one
  std::unordered_set<ValueId> reduced_;  // results of the buckets
};

}  // namespace

void verify(const Schedule& schedule, const LocalGraph& local) {
  check_places(schedule, local);
  check_sections(schedule, local);
  Replay(schedule, local).run();
  for (size_t s = 0; s < schedule.entry.size(); ++s) {
    if (schedule.exit[s] < 0) continue;
    PARTITA_CHECK(schedule.buffers[schedule.entry[s]].format == schedule.buffers[schedule.exit[s]].format,
                  "state {} changes its memory format",
                  local.graph.values[schedule.buffers[schedule.entry[s]].value].name);
  }
  for (const auto* list : {&schedule.inputs, &schedule.outputs}) {
    for (int buffer : *list) {
      PARTITA_CHECK(schedule.buffers[buffer].format.plain(), "{} is not plain",
                    local.graph.values[schedule.buffers[buffer].value].name);
    }
  }
}

}  // namespace partita
