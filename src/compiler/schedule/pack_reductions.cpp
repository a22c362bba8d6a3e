#include "compiler/schedule/pack_reductions.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "compiler/partition/collectives.h"
#include "compiler/schedule/last_fit.h"

namespace partita {
namespace {

struct Reduction {
  size_t instruction = 0;
  size_t ready = 0;   // instruction that makes its operand
  bool late = false;  // nothing before the update reads the result
};

class Packer {
 public:
  Packer(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options)
      : schedule_(schedule), local_(local), options_(options) {}

  void run() {
    gathered_ = first_of_update(schedule_, local_);
    find_reductions();
    std::vector<Reduction> late;
    for (const Reduction& reduction : reductions_) {
      if (reduction.late) late.push_back(reduction);
    }
    std::ranges::stable_sort(late, [](const auto& a, const auto& b) { return a.ready < b.ready; });
    for (const Reduction& reduction : late) collect(reduction);
    const size_t late_buckets = schedule_.buckets.size();
    pack_neighbours();
    rebuild(late_buckets);
  }

 private:
  const Node& node(const Instruction& instruction) const { return local_.graph.nodes[instruction.node]; }

  /// Sets `reductions_`: the all-reduces to pack, whose operand has no other reader, so that they can work in place.
  void find_reductions() {
    const auto& list = schedule_.instructions;
    std::vector<int> readers(schedule_.buffers.size(), 0);
    std::vector<size_t> makers(schedule_.buffers.size(), 0);
    std::vector<bool> read_early(schedule_.buffers.size(), false);
    for (size_t i = 0; i < list.size(); ++i) {
      for (int buffer : list[i].inputs) {
        ++readers[buffer];
        if (i < gathered_) read_early[buffer] = true;
      }
      for (int buffer : list[i].outputs) makers[buffer] = i;
    }
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) {  // the verdict comes after all gradients
      const Output& output = local_.graph.outputs[k];
      if (!output.to_stages.empty() && !output.verdict) read_early[schedule_.outputs[k]] = true;
    }
    for (const Buffer& buffer : schedule_.buffers) {
      if (buffer.view_of < 0) continue;
      ++readers[buffer.view_of];
      read_early[buffer.view_of] = true;
    }
    std::vector<bool> is_entry(schedule_.buffers.size(), false);
    for (const auto* buffers : {&schedule_.inputs, &schedule_.entry}) {
      for (int buffer : *buffers) is_entry[buffer] = true;
    }
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind != Instruction::collective) continue;
      if (!performs(node(list[i]), Collective::all_reduce)) continue;
      const int input = list[i].inputs[0];
      if (readers[input] != 1 || is_entry[input] || schedule_.buffers[input].view_of >= 0) continue;
      const bool late = i < gathered_ && !read_early[list[i].outputs[0]];
      // A stage may hold several copies of what it reduces in one micro-batch.
      if (!late && local_.is_stage() && schedule_.in_micro_batch(i)) continue;
      reductions_.push_back({i, makers[input], late});
    }
    leave_out_chained();
  }

  /// Removes from `reductions_` those whose result another one reduces, since a bucket's operands must be made outside
  /// of buckets. In a chain of reductions, only the last and every second one before it stay.
  void leave_out_chained() {
    std::set<size_t> left_out;
    for (size_t r = reductions_.size(); r-- > 0;) {
      if (!left_out.contains(reductions_[r].instruction)) left_out.insert(reductions_[r].ready);
    }
    std::erase_if(reductions_, [&](const Reduction& one) { return left_out.contains(one.instruction); });
  }

  bool fits(const Bucket& bucket, const Instruction& instruction) const {
    const CollectiveAttrs& attrs = node(instruction).attrs.as<CollectiveAttrs>();
    return bucket.dtype == local_.graph.type(node(instruction).inputs[0]).dtype && bucket.reduce == attrs.reduce &&
           bucket.axes == axes_of(node(instruction), local_.mesh) && bucket.wire == attrs.wire;
  }

  int new_bucket(const Instruction& instruction) {
    const CollectiveAttrs& attrs = node(instruction).attrs.as<CollectiveAttrs>();
    schedule_.buckets.push_back({.dtype = local_.graph.type(node(instruction).inputs[0]).dtype,
                                 .reduce = attrs.reduce,
                                 .axes = axes_of(node(instruction), local_.mesh),
                                 .wire = attrs.wire});
    return static_cast<int>(schedule_.buckets.size()) - 1;
  }

  void add(int bucket_index, size_t index) {
    const Instruction& instruction = schedule_.instructions[index];
    Bucket& bucket = schedule_.buckets[bucket_index];
    bucket.nodes.push_back(instruction.node);
    bucket.buffers.push_back(instruction.inputs[0]);
    const int64_t bytes = schedule_.buffers[instruction.inputs[0]].bytes;
    bucket.bytes += aligned(bytes);
    schedule_.buffers[instruction.outputs[0]].view_of = instruction.inputs[0];
    packed_[index] = bucket_index;
  }

  void collect(const Reduction& reduction) {
    const Instruction& instruction = schedule_.instructions[reduction.instruction];
    const CollectiveAttrs& attrs = node(instruction).attrs.as<CollectiveAttrs>();
    Room& room = rooms_[{local_.graph.type(node(instruction).inputs[0]).dtype, attrs.reduce,
                         axes_of(node(instruction), local_.mesh), attrs.wire}];
    int place = room.free.last_at_least(schedule_.buffers[instruction.inputs[0]].bytes);
    if (place < 0) {
      place = static_cast<int>(room.buckets.size());
      room.buckets.push_back(new_bucket(instruction));
      room.free.push_back(options_.bucket_bytes);
    }
    const int chosen = room.buckets[place];
    add(chosen, reduction.instruction);
    room.free.set(place, options_.bucket_bytes - schedule_.buckets[chosen].bytes);
    ready_.resize(schedule_.buckets.size(), 0);
    ready_[chosen] = std::max(ready_[chosen], reduction.ready);
  }

  /// Whether both serve the same phase of a stage. Other stages wait for late results of the forward pass, while those
  /// of the backward pass may wait for other stages.
  bool serve_one_phase(const Instruction& a, const Instruction& b) const {
    return !local_.is_stage() || node(a).phase == node(b).phase;
  }

  /// Whether both run in the same loop over micro-batches, or both outside of the loops.
  bool run_together(size_t a, size_t b) const {
    const auto in_prologue = [&](size_t i) { return schedule_.section_of(i) == Section::prologue; };
    return schedule_.in_micro_batch(a) == schedule_.in_micro_batch(b) && in_prologue(a) == in_prologue(b);
  }

  void pack_neighbours() {
    size_t previous = 0;
    int open = -1;
    for (const Reduction& reduction : reductions_) {
      if (reduction.late) continue;
      const Instruction& instruction = schedule_.instructions[reduction.instruction];
      const bool follows = open >= 0 && reduction.instruction == previous + 1 &&
                           run_together(previous, reduction.instruction) &&
                           serve_one_phase(schedule_.instructions[previous], instruction) &&
                           reduction.ready < first_of_run_ && fits(schedule_.buckets[open], instruction);
      if (!follows) {
        open = new_bucket(instruction);
        first_of_run_ = reduction.instruction;
      }
      add(open, reduction.instruction);
      previous = reduction.instruction;
    }
  }

  void rebuild(size_t late_buckets) {
    std::vector<Instruction> old = std::move(schedule_.instructions);
    schedule_.instructions.clear();
    const auto begins = schedule_.begins;
    const size_t micro_begin = schedule_.micro_begin(), micro_end = schedule_.micro_end();
    std::vector<int> inline_done(schedule_.buckets.size(), 0);
    std::unordered_map<size_t, std::vector<int>> ready_at;  // late buckets, by the instruction that completes them
    for (size_t b = 0; b < late_buckets; ++b) ready_at[ready_[b]].push_back(static_cast<int>(b));
    size_t last_work = 0;  // no computation after it could overlap a reduction
    for (size_t i = 0; i < gathered_; ++i) {
      if (old[i].kind == Instruction::compute || old[i].kind == Instruction::accumulate) last_work = i;
    }
    std::vector<int> started;
    const auto emit = [&](Instruction::Kind kind, int bucket, bool last = false) {
      schedule_.instructions.push_back(
          {.kind = kind, .node = schedule_.buckets[bucket].nodes.front(), .bucket = bucket, .last = last});
    };
    // The wait must not be in a section that runs for each micro-batch.
    const auto waits = static_cast<size_t>(has_late_section(local_) ? Section::update : Section::once);
    for (size_t i = 0; i <= old.size(); ++i) {
      for (size_t section = 0; section < begins.size(); ++section) {
        for (size_t k = 0; k < started.size() && i == gathered_ && section == waits; ++k) {
          emit(Instruction::wait, started[k]);
        }
        if (begins[section] == i) schedule_.begins[section] = schedule_.instructions.size();
      }
      if (i == old.size()) break;
      const auto packed = packed_.find(i);
      if (packed == packed_.end()) {
        schedule_.instructions.push_back(std::move(old[i]));
      } else if (packed->second >= static_cast<int>(late_buckets) && !inline_done[packed->second]++) {
        emit(Instruction::reduce, packed->second);
      }
      const auto ready = ready_at.find(i);
      if (ready == ready_at.end()) continue;
      for (int bucket : ready->second) {
        const bool overlapped = options_.overlap && i < last_work;
        // Sums over micro-batches are complete only in the last one.
        const bool last = local_.mesh.micro_axis() >= 0 && i >= micro_begin && i < micro_end;
        emit(overlapped ? Instruction::start : Instruction::reduce, bucket, last);
        if (overlapped) started.push_back(bucket);
      }
    }
  }

  /// Late buckets of one element type, reduction, group and type in which they are sent, and the bytes left in each.
  struct Room {
    std::vector<int> buckets;
    LastFit free;
  };

  Schedule& schedule_;
  const LocalGraph& local_;
  const ScheduleOptions& options_;
  std::vector<Reduction> reductions_;
  std::map<std::tuple<DType, Reduce, Axes, std::optional<DType>>, Room> rooms_;
  std::map<size_t, int> packed_;  // instruction -> bucket
  std::vector<size_t> ready_;     // per late bucket
  size_t first_of_run_ = 0;
  size_t gathered_ = 0;  // the instruction before which all gradients are complete
};

}  // namespace

void pack_reductions(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options) {
  if (options.pack) Packer(schedule, local, options).run();
}

}  // namespace partita
