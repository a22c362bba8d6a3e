#include "planner/simulation/live_memory.h"

#include <algorithm>
#include <map>

namespace partita {
namespace {

/// The buffers that an instruction reads or writes, with those of its bucket. One may be listed twice.
std::vector<int> touched(const Instruction& instruction, const Schedule& schedule) {
  std::vector<int> buffers = instruction.inputs;
  buffers.insert(buffers.end(), instruction.outputs.begin(), instruction.outputs.end());
  if (instruction.bucket >= 0) {
    const std::vector<int>& of_bucket = schedule.buckets[static_cast<size_t>(instruction.bucket)].buffers;
    buffers.insert(buffers.end(), of_bucket.begin(), of_bucket.end());
  }
  return buffers;
}

}  // namespace

LiveMemory::LiveMemory(const StageProgram& stage)
    : always_(stage.schedule.state_bytes + stage.schedule.scratch_bytes),
      micro_batches_(stage.local.mesh.micro_batches()),
      changes_(stage.schedule.instructions.size()) {
  constexpr size_t kNever = static_cast<size_t>(-1);
  const Schedule& schedule = stage.schedule;
  const std::vector<int> roots = roots_of(schedule);
  const size_t count = schedule.buffers.size();
  std::vector<size_t> first(count, kNever), last(count, 0);
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    for (const int buffer : touched(schedule.instructions[i], schedule)) {
      const auto root = static_cast<size_t>(roots[static_cast<size_t>(buffer)]);
      if (schedule.buffers[root].offset < schedule.state_bytes || schedule.is_external(buffer)) continue;
      first[root] = std::min(first[root], i);
      last[root] = i;
    }
  }
  for (const int buffer : schedule.outputs) {
    const auto root = static_cast<size_t>(roots[static_cast<size_t>(buffer)]);
    if (first[root] != kNever) last[root] = schedule.instructions.size() - 1;
  }
  std::map<std::pair<size_t, int64_t>, bool> ends;  // whether a buffer ends, by instruction and offset
  for (size_t buffer = 0; buffer < count; ++buffer) {
    if (first[buffer] != kNever) ends[{last[buffer], schedule.buffers[buffer].offset}] = true;
  }
  for (size_t buffer = 0; buffer < count; ++buffer) {
    if (first[buffer] == kNever) continue;
    const bool begins_often = repeats(schedule.section_of(first[buffer])),
               ends_often = repeats(schedule.section_of(last[buffer]));
    const int64_t bytes = schedule.buffers[buffer].bytes;
    Changes &begin = changes_[first[buffer]], &end = changes_[last[buffer]];
    (begins_often && !ends_often ? begin.taken_first : begin.taken) += bytes;
    (ends_often && !begins_often ? end.released_last : end.released) += bytes;
    // The result takes the memory of an operand.
    if (first[buffer] < last[buffer] && ends.contains({first[buffer], schedule.buffers[buffer].offset}))
      begin.in_place += bytes;
  }
}

MemoryChange LiveMemory::change(size_t instruction, int64_t micro_batch) const {
  const Changes& one = changes_[instruction];
  const int64_t taken = one.taken + (micro_batch == 0 ? one.taken_first : 0),
                released = one.released + (micro_batch == micro_batches_ - 1 ? one.released_last : 0),
                both = std::min({one.in_place, taken, released});
  return {taken - both, released - both};
}

}  // namespace partita
