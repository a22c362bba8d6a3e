#include "runtime/execute/xla/runs_in_flight.h"

#include <algorithm>
#include <utility>

#include "runtime/execute/xla/with_place.h"

namespace partita {
namespace {

/// Sets the time of an end to now, if it is not known yet.
void set_end(std::atomic<int64_t>& end) {
  int64_t unknown = 0;
  end.compare_exchange_strong(unknown, Recorder::now());
}

}  // namespace

void RunsInFlight::record(Recorder* recorder, int stage, int thread) {
  recorder_ = recorder;
  stage_ = stage;
  thread_ = thread;
}

void RunsInFlight::add(pjrt::Completion done, Describe describe, const std::vector<int>& outputs, const Span& span) {
  Run& run = runs_.emplace_back(Run{std::move(done), std::move(describe), &outputs, step_});
  if (recorder_ == nullptr || !recorder_->wants(/*exposed=*/false)) return;
  const auto ended = std::make_shared<std::atomic<int64_t>>(0);
  run.ended = ended;
  run.done.when_ended([ended] { set_end(*ended); });
  run.span = span;
  run.span->kind = Span::program;
  run.span->thread = thread_;
  run.span->stage = stage_;
  run.span->step = recorder_->step();
}

void RunsInFlight::have_computed(const std::vector<int>& places, int64_t micro_batch) {
  const auto computes = [&](const Run& run) {
    return run.span && run.span->micro_batch == micro_batch &&
           std::find_first_of(places.begin(), places.end(), run.outputs->begin(), run.outputs->end()) != places.end();
  };
  for (auto run = std::find_if(runs_.rbegin(), runs_.rend(), computes); run != runs_.rend(); ++run) {
    if (run->span) set_end(*run->ended);
  }
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

/// Adds the span of a run that has ended.
void RunsInFlight::add_span(Run& run) {
  if (!run.span || recorder_ == nullptr) return;
  set_end(*run.ended);
  run.span->end = std::max(run.span->begin, run.ended->load());
  recorder_->add(*run.span);
}

std::exception_ptr RunsInFlight::await_all() { return await_steps(0); }

std::exception_ptr RunsInFlight::await_steps(int64_t steps_ago) {
  std::exception_ptr first;
  while (!runs_.empty() && runs_.front().step <= step_ - steps_ago) {
    const std::exception_ptr error = await_oldest();
    if (first == nullptr) first = error;
  }
  return first;
}

}  // namespace partita
