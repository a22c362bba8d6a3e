#include "runtime/execute/xla/runs_in_flight.h"

#include <algorithm>
#include <utility>

#include "runtime/execute/xla/with_place.h"

namespace partita {

void RunsInFlight::record(Recorder* recorder, int stage, int thread) {
  recorder_ = recorder;
  stage_ = stage;
  thread_ = thread;
}

void RunsInFlight::add(pjrt::Completion done, Describe describe, const Span& span) {
  Run& run = runs_.emplace_back(Run{std::move(done), std::move(describe), std::nullopt});
  if (recorder_ == nullptr || !recorder_->wants(/*exposed=*/false)) return;
  const auto ended = std::make_shared<std::atomic<int64_t>>(0);
  run.ended = ended;
  run.done.when_ended([ended] { *ended = Recorder::now(); });
  run.span = span;
  run.span->kind = Span::program;
  run.span->thread = thread_;
  run.span->stage = stage_;
  run.span->step = recorder_->step();
}

std::exception_ptr RunsInFlight::await_oldest() {
  Run oldest = std::move(runs_.front());
  runs_.pop_front();
  try {
    with_place(oldest.describe, [&] { oldest.done.wait(); });
  } catch (...) {
    return std::current_exception();
  }
  add_span(oldest);
  return nullptr;
}

/// Adds the span of a run that has ended. The plugin may tell so a little later than to whom waits.
void RunsInFlight::add_span(Run& run) {
  if (!run.span || recorder_ == nullptr) return;
  const int64_t told = *run.ended;
  run.span->end = std::max(run.span->begin, told != 0 ? told : Recorder::now());
  recorder_->add(*run.span);
}

std::exception_ptr RunsInFlight::await_all() {
  std::exception_ptr first;
  while (!runs_.empty()) {
    const std::exception_ptr error = await_oldest();
    if (first == nullptr) first = error;
  }
  return first;
}

}  // namespace partita
