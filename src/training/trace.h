#pragma once
// The trace of the first steps of a training, on one of its ranks.

#include <fstream>
#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/launch/owner_lock.h"
#include "training/predicted_trace.h"

namespace partita {

struct TraceOptions {
  std::string path;             // "": no trace
  int64_t steps = 3;            // the first of the training
  std::string cluster = "cpu";  // for which a step is predicted: a preset or a file
  int threads = 1;              // of each rank
  bool goes_on = false;         // the training does
};

class Trace {
 public:
  /// All ranks of `comm` make one at the same time; the first begins the file. The arguments outlive the object. `warn`
  /// is called when the file cannot be written any more. Throws RuntimeFailure(cannot_write), and what the cluster is
  /// refused with.
  Trace(const TraceOptions& options, const Program& program, Communicator& comm, bool ranks_are_processes,
        std::function<void(const std::string&)> warn);

  /// Whether the next step belongs to it.
  bool takes_step() const { return !is_written_ && steps_ < options_.steps; }
  /// Of a step that belongs to it, between the steps. Behind the last of them the first rank gets the spans of all and
  /// writes them; all ranks take part, as in `finish`.
  void end_step(Recorder& recorder);
  /// Writes what there is, when the training ends before.
  void finish(Recorder& recorder);
  /// Of a training that fails: the first rank writes what all have when `all_fail` says that all fail alike, or else
  /// each rank writes its own spans, the first to the file, rank R to FILE.rank_R.
  void rescue(Recorder& recorder, bool all_fail) noexcept;

 private:
  RankTrace own(Recorder& recorder) const;
  void gather(const RankTrace& own, Timeout timeout);
  /// What was predicted of all ranks, beside what the first one measured.
  void add_predicted(ChromeTrace& file, const RankTrace& first) const;
  RankTrace receive(int rank, Timeout timeout);
  void open(const std::string& path);
  std::string failure() const;
  void write(const std::function<void(ChromeTrace&)>& add_ranks);

  const TraceOptions& options_;
  std::optional<SimulatedStep> predicted_;  // on the first rank
  const Program& program_;
  Communicator& comm_;
  bool ranks_are_processes_;
  std::function<void(const std::string&)> warn_;
  std::string path_;
  std::optional<OwnerLock> lock_;  // of the first rank's file
  std::ofstream out_;
  ClockOffset clock_;
  int64_t steps_ = 0;  // recorded
  bool is_written_ = false;
};

}  // namespace partita
