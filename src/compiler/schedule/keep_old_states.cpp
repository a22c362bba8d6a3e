#include "compiler/schedule/keep_old_states.h"

namespace partita {

void keep_old_states(Schedule& schedule, const LocalGraph& local) {
  const std::vector<int> exits = schedule.exit;
  std::vector<int> roots = roots_of(schedule);
  std::vector<int> writer(schedule.buffers.size(), -1);  // per entry buffer: the state that is written to it, or -1
  for (size_t s = 0; s < exits.size(); ++s) {
    if (exits[s] >= 0 && exits[s] != schedule.entry[s]) writer[schedule.entry[s]] = static_cast<int>(s);
  }
  const auto is_overwritten = [&](int buffer, int except) {
    const int state = writer[roots[buffer]];
    return state >= 0 && state != except;
  };
  const auto keep = [&](int& buffer, int except) {
    if (buffer < 0 || !is_overwritten(buffer, except)) return;
    const int copy = static_cast<int>(schedule.buffers.size());
    Buffer kept = schedule.buffers[buffer];
    kept.view_of = -1;
    schedule.buffers.push_back(kept);
    schedule.instructions.push_back({.kind = Instruction::copy, .inputs = {buffer}, .outputs = {copy}});
    buffer = copy;
  };
  for (size_t s = 0; s < exits.size(); ++s) keep(schedule.exit[s], static_cast<int>(s));
  for (size_t k = 0; k < schedule.outputs.size(); ++k) {
    if (local.graph.outputs[k].to_stages.empty()) keep(schedule.outputs[k], /*except=*/-1);
  }
}

}  // namespace partita
