#include "runtime/execute/xla/program_room.h"

#include <algorithm>

#include "base/free_memory.h"

namespace partita {
namespace {

/// Bytes on the device while a program runs.
struct ProgramMemory {
  HeldBytes held;
  std::optional<int64_t> temporaries = 0;  // none: the plugin does not say
  int64_t bytes() const { return held.all() + temporaries.value_or(0); }
};

/// Returns the bytes of temporaries of a program; none if the plugin does not know.
std::optional<int64_t> temporaries_of(const pjrt::Executable& program) {
  try {
    return program.memory().temporaries;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<ProgramMemory> memory_of_programs(const ProgramRoom& room) {
  std::vector<ProgramMemory> needs;
  for (const HeldBytes& held : held_bytes(room.segmenter, room.segments, room.coordinates)) {
    const pjrt::Executable* program = room.programs[needs.size()];
    needs.push_back({.held = held});
    if (program != nullptr) needs.back().temporaries = temporaries_of(*program);
  }
  return needs;
}

}  // namespace

int more_inputs(const ProgramRoom& room) {
  constexpr int kMaxSteps = 2;
  if (!room.limit || room.segments.empty()) return kMaxSteps;
  const std::vector<ProgramMemory> needs = memory_of_programs(room);
  const auto most = std::ranges::max_element(
      needs, [](const ProgramMemory& a, const ProgramMemory& b) { return a.bytes() < b.bytes(); });
  if (most->bytes() > *room.limit) {
    throw RuntimeFailure(
        ExitCode::out_of_memory,
        "[memory] the programs do not fit the device, got {} ({} of states, {} of other values, {} of temporaries) for "
        "the program of {}, expected at most the {} that it has: a smaller batch or model, or more devices",
        print_bytes(most->bytes()), print_bytes(most->held.states), print_bytes(most->held.values),
        print_bytes(most->temporaries.value_or(0)),
        room.describe(room.segments[static_cast<size_t>(most - needs.begin())]), print_bytes(*room.limit));
  }
  const bool says_all = std::ranges::all_of(needs, [](const auto& need) { return need.temporaries.has_value(); });
  const int64_t rest = *room.limit - *room.limit / 10 - most->bytes();
  int count = 0;
  while (says_all && count < kMaxSteps && (count + 1) * room.inputs <= rest) ++count;
  return count;
}

}  // namespace partita
