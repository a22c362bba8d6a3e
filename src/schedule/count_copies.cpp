#include "schedule/count_copies.h"

#include <algorithm>

#include "partition/collectives.h"

namespace partita {

void count_copies(Schedule& schedule, const LocalGraph& local, const InFlight& in_flight) {
  if (!local.is_stage()) return;
  std::vector<int> roots;
  for (const Buffer& buffer : schedule.buffers) {
    roots.push_back(buffer.view_of < 0 ? static_cast<int>(roots.size()) : roots[buffer.view_of]);
  }
  std::vector<std::optional<Section>> made(roots.size()), read(roots.size());  // the first and the last, per root
  for (size_t i = schedule.micro_begin(); i < schedule.micro_end(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    const Section section = schedule.section_of(i);
    const bool joins =
        instruction.kind == Instruction::accumulate ||
        (instruction.kind == Instruction::collective && joins_micro_batches(local.graph.nodes[instruction.node]));
    for (const int buffer : instruction.outputs) {
      if (!joins && !made[roots[buffer]]) made[roots[buffer]] = section;
    }
    for (const int buffer : instruction.inputs) read[roots[buffer]] = section;
  }
  std::vector<bool> is_entry(roots.size(), false);
  for (const auto* list : {&schedule.inputs, &schedule.entry}) {
    for (const int buffer : *list) is_entry[buffer] = true;
  }
  for (size_t s = 0; s < roots.size(); ++s) {
    const int root = roots[s];
    if (is_entry[root] || !made[root] || !read[root] || *made[root] == *read[root]) {
      schedule.buffers[s].copies =
          root == static_cast<int>(s) ? schedule.buffers[s].copies : schedule.buffers[root].copies;
      continue;
    }
    schedule.buffers[s].copies = in_flight.between(*made[root], *read[root]);
  }
}

void require_copies(const Schedule& schedule, const LocalGraph& local, const InFlight& in_flight, int stage) {
  Schedule needed = schedule;
  count_copies(needed, local, in_flight);
  for (size_t i = 0; i < needed.inputs.size(); ++i) {
    if (local.graph.inputs[i].from_stage >= 0) needed.buffers[needed.inputs[i]].copies = in_flight.inputs.at(i);
  }
  for (size_t s = 0; s < schedule.buffers.size(); ++s) {
    const Buffer &buffer = schedule.buffers[s], &wanted = needed.buffers[s];
    if (buffer.copies >= wanted.copies) continue;
    throw InvalidArgument(
        fmt::format("[schedule] a stage keeps fewer copies than its order has in flight, got {} of %{} on stage {}, "
                    "expected {}, or the order that the schedule was made for",
                    buffer.copies, local.graph.values[buffer.value].name, stage, wanted.copies));
  }
}

}  // namespace partita
