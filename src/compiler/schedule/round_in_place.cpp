#include "compiler/schedule/round_in_place.h"

#include "compiler/partition/exchange.h"

namespace partita {

std::vector<bool> read_once(const Schedule& schedule) {
  const std::vector<int> roots = roots_of(schedule);
  std::vector<int> readers(roots.size(), 0);
  for (const Instruction& instruction : schedule.instructions) {
    if (instruction.kind == Instruction::wait) continue;
    for (const int buffer : instruction.inputs) ++readers[roots[buffer]];
  }
  for (const auto* buffers : {&schedule.inputs, &schedule.entry, &schedule.outputs}) {
    for (const int buffer : *buffers) readers[roots[buffer]] += 2;
  }
  std::vector<bool> once;
  for (const int root : roots) once.push_back(readers[root] == 1);
  return once;
}

void round_in_place(Schedule& schedule, const LocalGraph& local) {
  const std::vector<bool> once = read_once(schedule);
  for (Instruction& instruction : schedule.instructions) {
    if (instruction.kind != Instruction::collective || !can_round_in_place(local, instruction.node)) continue;
    if (once[instruction.inputs[0]]) instruction.choice.scratch_bytes = 0;
  }
}

}  // namespace partita
