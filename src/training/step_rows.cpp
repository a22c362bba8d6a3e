#include "training/step_rows.h"

#include <utility>

namespace partita {

bool StepRows::feed(Recorder* recorder) {
  const Ahead ahead = std::exchange(ahead_, Ahead::nothing);
  if (ahead == Ahead::nothing) read(recorder);
  const Recorded recorded(recorder, {.kind = Span::feed});
  if (ahead == Ahead::inputs && rank_.executor().use_next_inputs()) return true;
  rank_.feed(batch_);
  return false;
}

std::function<void()> StepRows::feeds_next(Recorder* recorder) {
  if (!copies_ahead_ || !rank_.executor().can_set_next_inputs()) return nullptr;
  return [this, recorder] { feed_next(recorder); };
}

void StepRows::read(Recorder* recorder) {
  const Recorded recorded(recorder, {.kind = Span::rows});
  rows_.next(batch_);
}

void StepRows::feed_next(Recorder* recorder) noexcept {
  if (!rows_.is_ready()) return;
  read(recorder);
  ahead_ = Ahead::rows;
  const Recorded recorded(recorder, {.kind = Span::feed});
  try {
    rank_.feed_next(batch_);
    ahead_ = Ahead::inputs;
  } catch (...) {  // such as too little memory for the rows of two steps; the next one meets any other error again
    copies_ahead_ = false;  // an allocator may wait for seconds before it gives up
    rank_.executor().forget_next_inputs();
  }
}

}  // namespace partita
