#include "compiler/schedule/count_copies.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/transfers.h"

namespace partita {
namespace {

/// First section that writes and last section that reads each piece of memory in a micro-batch.
struct Lifetimes {
  std::vector<std::optional<Section>> made, read;  // per root
};

Lifetimes lifetimes_of(const Schedule& schedule, const LocalGraph& local, const std::vector<int>& roots) {
  Lifetimes result{.made = std::vector<std::optional<Section>>(roots.size()),
                   .read = std::vector<std::optional<Section>>(roots.size())};
  const auto read = [&](int buffer, Section section) {
    std::optional<Section>& last = result.read[roots[buffer]];
    last = std::max(last.value_or(section), section);
  };
  for (size_t i = schedule.micro_begin(); i < schedule.micro_end(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    const Section section = schedule.section_of(i);
    const bool joins =
        instruction.kind == Instruction::accumulate ||
        (instruction.kind == Instruction::collective && joins_micro_batches(local.graph.nodes[instruction.node]));
    for (const int buffer : instruction.outputs) {
      if (!joins && !result.made[roots[buffer]]) result.made[roots[buffer]] = section;
    }
    for (const int buffer : instruction.inputs) read(buffer, section);
  }
  const std::vector<Section> sections = sections_of(local);
  for (size_t k = 0; k < schedule.outputs.size(); ++k) {  // a view is sent without an instruction that reads it
    const Section sent = section_of_output(local, sections, k);
    if (!local.graph.outputs[k].to_stages.empty() && is_micro(sent)) read(schedule.outputs[k], sent);
  }
  return result;
}

}  // namespace

void count_copies(Schedule& schedule, const LocalGraph& local, const InFlight& in_flight) {
  if (!local.is_stage()) return;
  const std::vector<int> roots = roots_of(schedule);
  const Lifetimes lifetimes = lifetimes_of(schedule, local, roots);
  std::vector<bool> is_entry(roots.size(), false);
  for (const auto* list : {&schedule.inputs, &schedule.entry}) {
    for (const int buffer : *list) is_entry[buffer] = true;
  }
  for (size_t i = 0; i < schedule.inputs.size(); ++i) {
    const int buffer = schedule.inputs[i];
    if (local.graph.inputs[i].from_stage < 0) continue;
    const std::optional<Section> last = lifetimes.read[buffer];
    schedule.buffers[buffer].copies = last ? in_flight.received(i, *last) : 1;
  }
  for (size_t s = 0; s < roots.size(); ++s) {
    const int root = roots[s];
    const std::optional<Section> made = lifetimes.made[root], read = lifetimes.read[root];
    if (is_entry[root] || !made || !read || *made == *read) {
      schedule.buffers[s].copies = schedule.buffers[root].copies;
    } else {
      schedule.buffers[s].copies = in_flight.between(*made, *read);
    }
  }
}

void require_copies(const Schedule& schedule, const LocalGraph& local, const InFlight& in_flight, int stage) {
  Schedule needed = schedule;
  count_copies(needed, local, in_flight);
  for (size_t s = 0; s < schedule.buffers.size(); ++s) {
    const Buffer &buffer = schedule.buffers[s], &wanted = needed.buffers[s];
    if (buffer.copies >= wanted.copies) continue;
    throw InvalidArgument(
        "[schedule] a stage keeps fewer copies than its order has in flight, got {} of %{} on stage {}, expected {}, "
        "or the order that the schedule was made for",
        buffer.copies, local.graph.values[buffer.value].name, stage, wanted.copies);
  }
}

}  // namespace partita
