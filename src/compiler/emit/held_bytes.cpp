#include "compiler/emit/held_bytes.h"

namespace partita {
std::set<int> kept_inputs(const Segmenter& segmenter) {
  const Schedule& schedule = segmenter.schedule();
  const LocalGraph& local = segmenter.local();
  if (local.mesh.micro_batches() > 1) return {};
  const auto place_of = [&](int buffer) { return segmenter.places()[static_cast<size_t>(buffer)]; };
  std::set<int> read, kept;
  for (const Instruction& instruction : schedule.instructions) {
    if (!segmenter.in_program(instruction)) continue;
    for (const int buffer : instruction.inputs) read.insert(place_of(buffer));
  }
  for (size_t i = 0; i < local.graph.inputs.size(); ++i) {
    const int place = place_of(schedule.inputs[i]);
    if (local.graph.inputs[i].from_stage < 0 && read.contains(place)) kept.insert(place);
  }
  return kept;
}

std::vector<HeldBytes> held_bytes(const Segmenter& segmenter, const std::vector<Segment>& segments,
                                  const std::vector<int64_t>& coordinates) {
  const Schedule& schedule = segmenter.schedule();
  const auto last_readers = segmenter.last_readers();
  const auto bytes_of = [&](int place) {
    const int64_t copies = schedule.is_external(place) ? 0 : schedule.buffers[place].copies;
    return copies * segmenter.type_of(place, coordinates).bytes();
  };
  std::set<int> states, live;
  for (const int entry : schedule.entry) states.insert(segmenter.places()[static_cast<size_t>(entry)]);
  for (const int output : schedule.outputs) live.insert(segmenter.places()[static_cast<size_t>(output)]);
  HeldBytes always;
  for (const int place : states) always.states += bytes_of(place);
  const std::set<int> inputs = kept_inputs(segmenter);
  for (const int place : inputs) always.values += bytes_of(place);
  std::vector<HeldBytes> found;
  for (const Segment& segment : segments) {
    std::erase_if(live,
                  [&](int place) { return last_readers[place] && last_readers[place]->instruction < segment.begin; });
    live.insert(segment.inputs.begin(), segment.inputs.end());
    live.insert(segment.outputs.begin(), segment.outputs.end());
    HeldBytes& held = found.emplace_back(always);
    for (const int place : live) {
      if (!states.contains(place) && !inputs.contains(place)) held.values += bytes_of(place);
    }
  }
  return found;
}

}  // namespace partita
