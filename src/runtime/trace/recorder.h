#pragma once
// What a rank did when: spans of its steps, and how long it waited for others.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace partita {

/// Something that a rank did.
struct Span {
  /// rows: waiting for a batch; feed; section: `index` is the Section; instruction: of the
  /// schedule; send, receive: `index` is the transfer; verdict; check: whether the loss is finite; result: it is read;
  /// agreement: of the ranks between two steps.
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
    result,
    agreement
  } kind = whole_step;
  /// 0: the thread that computes; 1 + k: the one that communicates for the k-th stage of the rank.
  int32_t thread = 0;
  int32_t stage = -1, index = -1, micro_batch = 0;
  /// The rank computes nothing meanwhile because it communicates, waiting for others included.
  int32_t exposed = 0;
  int32_t step = 0;            // as the recorder was told
  int64_t begin = 0, end = 0;  // nanoseconds of the steady clock
};

/// One rank's. A thread writes only its own spans; they are read when no thread writes.
class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// What comes next is of a step; whether its spans are kept.
  void begin_step(int64_t step, bool keeps_spans);
  /// Makes room for as many spans of each thread of the rank, so that recording allocates nothing. Spans beyond are
  /// counted alone.
  void reserve(const std::vector<int64_t>& spans_of_threads);

  /// Whether a span is to be timed.
  bool wants(bool exposed) const { return keeps_spans_ || exposed; }
  int32_t step() const { return step_; }
  void add(const Span& span);

  /// In the step that began last.
  double exposed_seconds() const;
  /// Thread by thread, in the order in which they ended.
  std::vector<Span> take();
  /// Spans that had no room.
  int64_t lost() const { return lost_; }

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
  int64_t exposed_ = 0;  // nanoseconds
  std::atomic<int64_t> lost_ = 0;
};

/// Records what happens while it lives, also when it ends by an exception. Without a recorder it does nothing.
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
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

 private:
  Recorder* recorder_ = nullptr;
  Span span_;
};

}  // namespace partita
