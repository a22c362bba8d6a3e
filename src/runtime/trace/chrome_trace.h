#pragma once
// Traces in the JSON format of Chrome, which Perfetto (ui.perfetto.dev) opens.

#include <ostream>

#include "compiler/compile.h"
#include "runtime/comm/clock_offset.h"
#include "runtime/trace/recorder.h"

namespace partita {

/// What one rank recorded.
struct RankTrace {
  int rank = 0;
  ClockOffset first, last;  // of its clock, before and behind the spans
  std::vector<Span> spans;
  int64_t lost = 0;           // spans that had no room
  bool is_predicted = false;  // what a cluster says that the rank does: a process of its own
};

/// Writes the ranks one after another. A process is a rank; its threads are that which computes and, for each of its
/// stages, that which communicates meanwhile. All times are of the first rank's clock. Spans of one
/// collective have one `collective` among their arguments, on every rank that takes part. What is predicted of a rank
/// is a process behind those of all ranks, named after it, with spans of the same names.
class ChromeTrace {
 public:
  /// The arguments outlive the object.
  ChromeTrace(const Program& program, std::ostream& out);
  void add(const RankTrace& rank);
  /// The end of the file.
  void finish();

 private:
  struct Event {
    std::string name, category, arguments;  // arguments: JSON without its braces
  };
  void write(const std::string& event);
  void add_names(const RankTrace& rank);
  int process_of(const RankTrace& rank) const;
  Event event_of(const Span& span, int rank) const;
  Event section(const Span& span) const;
  Event instruction(const Span& span, int rank) const;
  Event transfer(const Span& span) const;
  const StageProgram& stage_of(const Span& span) const { return program_.stages[static_cast<size_t>(span.stage)]; }
  std::string collective(const Span& span, int rank, const Axes& axes) const;

  const Program& program_;
  std::ostream& out_;
  bool is_first_ = true;
};

}  // namespace partita
