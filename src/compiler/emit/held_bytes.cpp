#include "compiler/emit/held_bytes.h"

#include <set>

namespace partita {
namespace {

/// The places of inputs that stay on the device (runtime/execute/xla/device_inputs.h).
std::set<int> places_of_inputs(const Segmenter& segmenter) {
  const Schedule& schedule = segmenter.schedule();
  const LocalGraph& local = segmenter.local();
  std::set<int> places;
  if (local.mesh.micro_batches() > 1) return places;
  for (size_t i = 0; i < local.graph.inputs.size(); ++i) {
    const bool is_fed = local.graph.inputs[i].from_stage < 0;
    if (is_fed) places.insert(segmenter.places()[static_cast<size_t>(schedule.inputs[i])]);
  }
  return places;
}

}  // namespace

std::vector<HeldBytes> held_bytes(const Segmenter& segmenter, const std::vector<Segment>& segments,
                                  const std::vector<int64_t>& coordinates) {
  const Schedule& schedule = segmenter.schedule();
  const auto last_readers = segmenter.last_readers();
  const auto bytes_of = [&](int place) {
    const Buffer& buffer = schedule.buffers[place];
    return schedule.is_external(place) ? 0 : segmenter.local().type(buffer.value, coordinates).bytes() * buffer.copies;
  };
  std::set<int> states, live;
  for (const int entry : schedule.entry) states.insert(segmenter.places()[static_cast<size_t>(entry)]);
  for (const int output : schedule.outputs) live.insert(segmenter.places()[static_cast<size_t>(output)]);
  HeldBytes always;
  for (const int place : states) always.states += bytes_of(place);
  const std::set<int> inputs = places_of_inputs(segmenter);
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
