#include "compiler/schedule/overlap_collectives.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/partition/collectives.h"

namespace partita {
namespace {

/// A collective that becomes asynchronous. Positions are before an instruction, or after one.
struct Message {
  size_t instruction = 0;
  size_t start = 0;          // before this instruction
  size_t wait = 0;           // before this instruction
  bool after_maker = false;  // started after instruction `start` instead, in the last micro-batch
  Section section = Section::once;
};

class Overlapper {
 public:
  Overlapper(Schedule& schedule, const LocalGraph& local)
      : schedule_(schedule),
        local_(local),
        first_of_update_(first_of_update(schedule, local)),
        roots_(roots_of(schedule)) {
    is_entry_.assign(roots_.size(), false);
    for (const auto* list : {&schedule.inputs, &schedule.entry}) {
      for (const int buffer : *list) is_entry_[roots_[buffer]] = true;
    }
    makers_.assign(roots_.size(), SIZE_MAX);
    for (size_t i = 0; i < schedule.instructions.size(); ++i) {
      const Instruction& instruction = schedule.instructions[i];
      for (const int buffer : instruction.outputs) makers_[roots_[buffer]] = i;
      if (instruction.bucket < 0 || instruction.kind == Instruction::start) continue;
      for (const int buffer : schedule.buckets[instruction.bucket].buffers) makers_[roots_[buffer]] = i;
    }
  }

  void run() {
    find_readers();
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      if (is_candidate(schedule_.instructions[i])) {
        consider(i);
      } else if (is_staged_scatter(schedule_.instructions[i])) {
        run_early(i);
      }
    }
    bound_scattered();
    if (!messages_.empty() || !early_.empty()) rebuild();
  }

 private:
  const Node& node_of(const Instruction& instruction) const { return local_.graph.nodes[instruction.node]; }

  bool is_candidate(const Instruction& instruction) const {
    if (instruction.kind != Instruction::collective || instruction.choice.scratch_bytes > 0) return false;
    const Node& node = node_of(instruction);
    return performs(node, Collective::all_gather) || performs(node, Collective::reduce_scatter);
  }

  bool scatters(const Instruction& instruction) const {
    return performs(node_of(instruction), Collective::reduce_scatter);
  }

  /// Whether an instruction scatters a sum through memory that the kernels share, so it cannot run next to them.
  bool is_staged_scatter(const Instruction& instruction) const {
    return instruction.kind == Instruction::collective && instruction.choice.scratch_bytes > 0 && scatters(instruction);
  }

  static bool computes(const Instruction& instruction) {
    return instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate;
  }

  void find_readers() {
    readers_.resize(roots_.size());
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      for (const int buffer : schedule_.instructions[i].inputs) {
        std::vector<size_t>& list = readers_[roots_[buffer]];
        if (list.empty() || list.back() != i) list.push_back(i);
      }
      if (schedule_.instructions[i].bucket < 0) continue;
      for (const int buffer : schedule_.buckets[schedule_.instructions[i].bucket].buffers) {
        readers_[roots_[buffer]].push_back(i);
      }
    }
    sent_.assign(roots_.size(), false);
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) {
      if (!local_.graph.outputs[k].to_stages.empty()) sent_[roots_[schedule_.outputs[k]]] = true;
    }
  }

  /// Whether the instruction that makes a buffer runs before `i` in the same section, and is done when it has run.
  bool is_made_here(int root, size_t i) const {
    const size_t maker = makers_[root];
    return maker < i && !is_entry_[root] && schedule_.section_of(maker) == schedule_.section_of(i) &&
           !asynchronous_.contains(maker);
  }

  /// Returns the first place at which the operand of a collective, which is made in its section, is complete. If it is
  /// another one in the format that the collective takes, that change is moved there, too.
  size_t place_of_operand(size_t i) {
    const int from = roots_[schedule_.instructions[i].inputs[0]];
    const size_t maker = makers_[from];
    const Instruction& change = schedule_.instructions[maker];
    if (change.kind != Instruction::reorder || readers_[from] != std::vector<size_t>{i}) return maker + 1;
    const int before = roots_[change.inputs[0]];
    if (!is_made_here(before, maker) || makers_[before] + 1 == maker) return maker + 1;
    early_.emplace(makers_[before] + 1, maker);
    return makers_[before] + 1;
  }

  /// Runs a collective right after its operand is made, which is then released.
  void run_early(size_t i) {
    const int from = roots_[schedule_.instructions[i].inputs[0]], to = roots_[schedule_.instructions[i].outputs[0]];
    if (sent_[to] || !is_made_here(from, i)) return;
    const size_t place = place_of_operand(i);
    if (place < i) early_.emplace(place, i);
  }

  void consider(size_t i) {
    const Instruction& instruction = schedule_.instructions[i];
    const int from = roots_[instruction.inputs[0]], to = roots_[instruction.outputs[0]];
    if (sent_[to]) return;
    Message message{.instruction = i, .start = i, .section = schedule_.section_of(i)};
    const auto reader = std::ranges::upper_bound(readers_[to], i);
    message.wait = std::min(reader == readers_[to].end() ? SIZE_MAX : *reader, end_of(message.section));
    const size_t maker = makers_[from];
    const bool made_here = maker < i && schedule_.section_of(maker) == message.section;
    const bool was_there = is_entry_[from] || (maker < i && !made_here);  // when the section begins
    const bool is_gather = is_regather(node_of(instruction)) && was_there;
    if (is_made_here(from, i)) message.start = scatters(instruction) ? place_of_operand(i) : maker + 1;
    if (is_gather) message.start = start_of_gather(message);
    if (message.section == Section::late) start_in_last_micro_batch(message, from);
    bool worth = message.after_maker;
    for (size_t between = message.start; between < message.wait && !worth; ++between) {
      worth = between != i && computes(schedule_.instructions[between]);
    }
    if (is_gather) last_wait_[static_cast<size_t>(message.section)] = message.wait;
    if (!worth) {  // what was moved for it stays next to it
      if (scatters(instruction) && message.start < i) early_.emplace(message.start, i);
      return;
    }
    messages_.push_back(message);
    asynchronous_.insert(i);
  }

  /// Returns the instruction before which the collectives of a section must be waited for: the end of the section or,
  /// for the sections once and late, the first instruction that serves the update if that is earlier.
  size_t end_of(Section section) const {
    return section == Section::late || section == Section::once ? std::min(first_of_update_, schedule_.end(section))
                                                                : schedule_.end(section);
  }

  /// Returns the instruction before which the gather starts: where the section's previous gather is waited for, or the
  /// section's beginning; at the latest, the gather's own place.
  size_t start_of_gather(const Message& message) const {
    const size_t before = last_wait_[static_cast<size_t>(message.section)];
    return std::min(message.instruction, std::max(before, schedule_.begin(message.section)));
  }

  /// Lets the message start after the instruction that accumulates the last micro-batch into the memory `from` of its
  /// operand. Does nothing if no accumulation in the micro-batches makes the operand.
  void start_in_last_micro_batch(Message& message, int from) const {
    const size_t maker = makers_[from];
    if (maker == SIZE_MAX || !schedule_.in_micro_batch(maker)) return;
    if (schedule_.instructions[maker].kind != Instruction::accumulate) return;
    message.start = maker;
    message.after_maker = true;
  }

  int64_t bytes_of(const Message& message) const {
    return schedule_.buffers[schedule_.instructions[message.instruction].inputs[0]].bytes;
  }

  /// Returns the messages that scatter sums and start where their operand is complete, by their start. Accumulators of
  /// micro-batches, which stay in memory all the time, are not among them.
  std::vector<Message*> scattering() {
    std::vector<Message*> found;
    for (Message& message : messages_) {
      if (message.after_maker) continue;
      if (scatters(schedule_.instructions[message.instruction])) found.push_back(&message);
    }
    std::ranges::stable_sort(found, [](const auto* a, const auto* b) { return a->start < b->start; });
    return found;
  }

  /// Moves waits forward, so that at most `scattered_bytes` of operands wait to be scattered. Their memory is then free
  /// for others. That takes no longer as long as messages are sent all the time: all of them would be waited for before
  /// the update.
  void bound_scattered() {
    const std::vector<Message*> all = scattering();
    int64_t largest = 0, pending = 0;
    for (const Message* message : all) largest = std::max(largest, bytes_of(*message));
    const int64_t limit = scattered_bytes(largest);
    size_t oldest = 0;
    for (Message* message : all) {
      pending += bytes_of(*message);
      // A wait comes before what starts at the same place, so it cannot be there for a message that starts there, too.
      for (; all[oldest]->start < message->start; ++oldest) {
        const bool is_over = all[oldest]->section != message->section;
        if (!is_over && pending <= limit) break;
        pending -= bytes_of(*all[oldest]);
        if (!is_over) all[oldest]->wait = std::min(all[oldest]->wait, message->start);
      }
    }
  }

  void rebuild() {
    std::vector<Instruction> old = std::move(schedule_.instructions);
    schedule_.instructions.clear();
    const auto begins = schedule_.begins;
    std::vector<bool> moved(old.size(), false);
    for (const auto& [place, instruction] : early_) moved[instruction] = true;
    std::vector<std::vector<size_t>> starts(old.size() + 1), waits(old.size() + 1), after(old.size() + 1);
    for (size_t m = 0; m < messages_.size(); ++m) {
      moved[messages_[m].instruction] = true;
      (messages_[m].after_maker ? after : starts)[messages_[m].start].push_back(m);
      waits[messages_[m].wait].push_back(m);
    }
    const auto emit = [&](size_t m, Instruction::Kind kind) {
      Instruction one = old[messages_[m].instruction];
      one.kind = kind;
      one.last = kind == Instruction::start && messages_[m].after_maker;
      if (kind == Instruction::wait) {
        one.inputs.insert(one.inputs.end(), one.outputs.begin(), one.outputs.end());
        one.outputs.clear();
      }
      schedule_.instructions.push_back(std::move(one));
    };
    for (size_t i = 0; i <= old.size(); ++i) {
      // A wait at the end of a section is a part of it.
      for (size_t section = 0; section < begins.size(); ++section) {
        if (begins[section] != i) continue;
        std::erase_if(waits[i], [&](size_t m) {
          if (messages_[m].section >= static_cast<Section>(section)) return false;
          emit(m, Instruction::wait);
          return true;
        });
        schedule_.begins[section] = schedule_.instructions.size();
      }
      for (const size_t m : waits[i]) emit(m, Instruction::wait);
      for (auto [early, end] = early_.equal_range(i); early != end; ++early) {
        schedule_.instructions.push_back(old[early->second]);
      }
      for (const size_t m : starts[i]) emit(m, Instruction::start);
      if (i < old.size() && !moved[i]) schedule_.instructions.push_back(old[i]);
      for (const size_t m : after[i]) emit(m, Instruction::start);
    }
  }

  Schedule& schedule_;
  const LocalGraph& local_;
  const size_t first_of_update_;
  std::vector<int> roots_;                    // per buffer
  std::vector<bool> is_entry_, sent_;         // per root
  std::vector<size_t> makers_;                // per root: the last instruction that writes it
  std::vector<std::vector<size_t>> readers_;  // per root
  std::array<size_t, kSections.size()> last_wait_{};
  std::vector<Message> messages_;
  std::set<size_t> asynchronous_;        // instructions of the messages
  std::multimap<size_t, size_t> early_;  // the instruction before which a collective runs, and the collective
};

}  // namespace

void overlap_collectives(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options) {
  if (options.overlap) Overlapper(schedule, local).run();
}

}  // namespace partita
