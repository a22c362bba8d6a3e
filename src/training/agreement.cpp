#include "training/agreement.h"

#include <algorithm>

namespace partita {
Agreement::Fields Agreement::reduced(const Fields& asked) {
  Fields all = asked;
  if (!has_failed_) rank_.comm().all_reduce(all.data(), kFields, DType::f64, Reduce::max);
  has_failed_ = has_failed_ || all[kFailed] != 0;
  if (!has_failed_ || asked[kFailed] != 0) return all;
  throw RuntimeFailure(ExitCode::peer_lost, "[train] a callback of another rank has failed");
}

void Agreement::fail() noexcept {
  Fields failed{};
  failed[kFailed] = 1;
  try {
    reduced(failed);
  } catch (...) {  // the ranks cannot agree; the error of the callback is reported
  }
}

Agreement::Fields Agreement::exchange(const Fields& asked) {
  while (true) {
    const Fields all = reduced(asked);
    if (all[kState] == 0) {
      states_.clear();
      return all;
    }
    gather_state(static_cast<size_t>(all[kState]) - 1);
  }
}

Array Agreement::read(const std::string& name) {
  if (reader_.load() != std::this_thread::get_id()) {
    throw InvalidArgument(
        "[train] the ranks are not waiting for this read, got a read of '{}' outside of the events of callbacks or in "
        "another thread, expected one within an event",
        name);
  }
  const std::vector<State>& states = program_.graph.states;
  const auto state =
      std::ranges::find_if(states, [&](const State& one) { return program_.graph.name_of(one) == name; });
  if (state == states.end()) throw InvalidArgument("[train] unknown state, got '{}'", name);
  const auto number = static_cast<size_t>(state - states.begin());
  // States are numbered from 1. If callbacks of several ranks read, the largest number is gathered next.
  while (!states_.contains(number)) {
    Fields asked{};
    asked[kState] = static_cast<double>(number + 1);
    const Fields all = reduced(asked);
    gather_state(static_cast<size_t>(all[kState]) - 1);
  }
  return states_.at(number);
}

void Agreement::gather_state(size_t number) {
  const std::string& name = program_.graph.name_of(program_.graph.states[number]);
  states_[number] = on_all_ ? rank_.executor().state(name) : rank_.executor().state_on_first(name).value_or(Array());
}

}  // namespace partita
