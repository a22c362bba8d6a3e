#pragma once
// Writes traces in the JSON format of Chrome, which Perfetto (ui.perfetto.dev) opens.

#include <ostream>

#include "compiler/compile.h"
#include "runtime/comm/clock_offset.h"
#include "runtime/trace/recorder.h"

namespace partita {

/// The spans that one rank recorded, or that were predicted for it.
struct RankTrace {
  int rank = 0;
  ClockOffset first, last;  // clock comparisons before and after the spans
  std::vector<Span> spans;
  int64_t lost = 0;           // number of spans dropped for lack of room
  bool is_predicted = false;  // spans predicted for the rank from a cluster: written as a process of their own
};

/// Writes ranks one after another. A process of the trace is a rank. Its threads are the compute thread, for each of
/// its stages the thread of asynchronous collectives, and the accelerator if there is one. All times are on the clock
/// of the first rank. Spans of one collective have the same `collective` argument on every rank that takes part.
/// Predicted spans of a rank are a process whose id follows those of all ranks; it is named after the rank, and its
/// spans have the same names.
class ChromeTrace {
 public:
  /// Writes the beginning of the file to `out`. The arguments outlive this object.
  ChromeTrace(const Program& program, std::ostream& out);
  /// Writes the names of a rank's process and threads, and an event for each of its spans. Call it once per rank, once
  /// more for predicted spans.
  void add(const RankTrace& rank);
  /// Writes the end of the file and flushes it. Errors of all writes are in the state of the stream.
  void finish();

 private:
  struct Event {
    std::string name, category, arguments;  // arguments: JSON without braces, with a leading comma
  };
  void write(const std::string& event);
  void add_names(const RankTrace& rank);
  int process_of(const RankTrace& rank) const;
  Event event_of(const Span& span, int rank) const;
  Event section(const Span& span) const;
  Event instruction(const Span& span, int rank) const;
  Event program(const Span& span) const;
  Event transfer(const Span& span) const;
  std::string name_in(const StageProgram& stage, int32_t instruction) const;
  const StageProgram& stage_of(const Span& span) const { return program_.stages[static_cast<size_t>(span.stage)]; }
  std::string collective(const Span& span, int rank, const Axes& axes) const;

  const Program& program_;
  std::ostream& out_;
  bool is_first_ = true;
};

}  // namespace partita
