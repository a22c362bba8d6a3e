#include "runtime/trace/recorder.h"

#include <algorithm>

namespace partita {
namespace {

/// Programs are added when the host has waited for them, stage by stage. The device runs them in the order in which
/// they were started, so none ends after the next one has ended.
void put_in_order(std::span<Span> programs) {
  std::ranges::stable_sort(programs, [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (size_t i = programs.size(); i > 1; --i) {
    programs[i - 2].end = std::min(programs[i - 2].end, programs[i - 1].end);
  }
  int64_t free = 0;
  for (Span& span : programs) {
    span.begin = std::min(std::max(span.begin, free), span.end);
    free = span.end;
  }
}

}  // namespace

void Recorder::begin_step(int64_t step, bool keeps_spans) {
  step_ = static_cast<int32_t>(step);
  keeps_spans_ = keeps_spans;
  exposed_ = 0;
}

void Recorder::reserve(const std::vector<int64_t>& spans_of_threads) {
  threads_.clear();
  for (const int64_t spans : spans_of_threads) threads_.push_back({std::vector<Span>(static_cast<size_t>(spans)), 0});
}

void Recorder::add(const Span& span) {
  if (span.exposed != 0) exposed_ += span.end - span.begin;
  if (!keeps_spans_) return;
  const auto place = static_cast<size_t>(span.thread);
  if (place >= threads_.size() || threads_[place].count == threads_[place].spans.size()) {
    ++lost_;
    return;
  }
  Thread& thread = threads_[place];
  thread.spans[thread.count++] = span;
}

double Recorder::exposed_seconds() const { return static_cast<double>(exposed_) * 1e-9; }

std::vector<Span> Recorder::take() {
  std::vector<Span> all;
  for (Thread& thread : threads_) {
    const std::span recorded(thread.spans.data(), thread.count);
    if (!recorded.empty() && recorded[0].kind == Span::program) put_in_order(recorded);
    all.insert(all.end(), recorded.begin(), recorded.end());
    thread.count = 0;
  }
  return all;
}

}  // namespace partita
