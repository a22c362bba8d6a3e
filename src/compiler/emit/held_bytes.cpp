#include "compiler/emit/held_bytes.h"

#include <set>

namespace partita {

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
  std::vector<HeldBytes> found;
  for (const Segment& segment : segments) {
    std::erase_if(live,
                  [&](int place) { return last_readers[place] && last_readers[place]->instruction < segment.begin; });
    live.insert(segment.inputs.begin(), segment.inputs.end());
    live.insert(segment.outputs.begin(), segment.outputs.end());
    HeldBytes& held = found.emplace_back(always);
    for (const int place : live) held.values += states.contains(place) ? 0 : bytes_of(place);
  }
  return found;
}

}  // namespace partita
