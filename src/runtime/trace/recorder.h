#pragma once
// Records what a rank did when: spans of its steps, and how long it waited for others.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace partita {

/// Something that a rank did, with its times.
struct Span {
  /// rows: waiting for a batch. feed: copying the batch to the inputs. section: `index` is the Section. instruction:
  /// `index` is that of the schedule. send, receive: `index` is the transfer. verdict: exchange before the update.
  /// check: reading the loss and whether it and the gradients are finite, before an update that needs to know.
  /// agreement: of the ranks between two steps. device: waiting for programs of an accelerator. program: the
  /// accelerator runs the instructions from `index` to `last`, whose end is what is known: its begin is the time at
  /// which the host started it, unless the program before it ended later.
  enum Kind : int32_t {
    whole_step,
    rows,
    feed,
    section,
    instruction,
    send,
    receive,
    verdict,
    check,
    agreement,
    device,
    program
  } kind = whole_step;
  /// 0: the compute thread; 1 + k: the communication thread of the rank's k-th stage; the number after these: the
  /// accelerator.
  int32_t thread = 0;
  int32_t stage = -1, index = -1, micro_batch = 0;
  /// 1 if the rank computes nothing meanwhile because it communicates or waits for others, else 0.
  int32_t exposed = 0;
  int32_t step = 0;            // step given to begin_step
  int32_t last = -1;           // last instruction of a program, also of one that an instruction starts
  int64_t begin = 0, end = 0;  // in nanoseconds of the steady clock
};

/// The record of one rank. A thread writes only its own spans. They are read while no thread writes.
class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins step number `step`, which its spans name, and sets its exposed time to 0. `keeps_spans` says whether its
  /// spans are kept; exposed time is counted in any case.
  void begin_step(int64_t step, bool keeps_spans);
  /// Makes room for the given number of spans per thread of the rank, so that recording allocates nothing. Drops what
  /// was recorded. Spans beyond that are only counted.
  void reserve(const std::vector<int64_t>& spans_of_threads);

  /// Whether a span has to be timed: if spans of this step are kept, or if it is `exposed`.
  bool wants(bool exposed) const { return keeps_spans_ || exposed; }
  int32_t step() const { return step_; }
  void add(const Span& span);

  /// Seconds of exposed communication in the step that began last.
  double exposed_seconds() const;
  /// Returns the spans and removes them from the record: thread by thread, in the order in which they ended. Programs
  /// of the accelerator, which runs one after another, begin when the one before has ended or later.
  std::vector<Span> take();
  /// Number of spans dropped for lack of room since construction.
  int64_t lost() const { return lost_; }

  /// Nanoseconds of the steady clock.
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  }

 private:
  struct Thread {
    std::vector<Span> spans;
    size_t count = 0;
  };
  std::vector<Thread> threads_;
  bool keeps_spans_ = false;
  int32_t step_ = 0;
  int64_t exposed_ = 0;  // in nanoseconds
  std::atomic<int64_t> lost_ = 0;
};

/// Records a span that lasts from construction to destruction, also if it ends by an exception. Does nothing if the
/// recorder is null or does not want the span (`wants`).
class Recorded {
 public:
  Recorded(Recorder* recorder, const Span& span) {
    if (recorder == nullptr || !recorder->wants(span.exposed != 0)) return;
    recorder_ = recorder;
    span_ = span;
    span_.step = recorder->step();
    span_.begin = Recorder::now();
  }
  ~Recorded() {
    if (recorder_ == nullptr) return;
    span_.end = Recorder::now();
    recorder_->add(span_);
  }
  Recorded& operator=(Recorded&&) = delete;

 private:
  Recorder* recorder_ = nullptr;
  Span span_;
};

}  // namespace partita
