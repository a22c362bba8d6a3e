#pragma once
// The trace of the first steps of a training, on one of its ranks.

#include <fstream>
#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/launch/owner_lock.h"
#include "training/report/predicted_trace.h"

namespace partita {

struct TraceOptions {
  std::string path;             // "": no trace
  int64_t steps = 3;            // number of first steps that are traced
  std::string cluster = "cpu";  // preset or file; the machine for which a step is predicted
  int threads = 1;              // compute threads of each rank
  bool goes_on = false;         // whether the training is resumed
};

class Trace {
 public:
  /// Starts a trace; the first rank opens the file. Collective over `comm` if ranks are processes, whose clocks are
  /// compared. The referenced arguments outlive the object. `warn` is called if the file cannot be written later.
  /// Throws RuntimeFailure if a rank is lost. The first rank throws RuntimeFailure(cannot_write) if the file cannot be
  /// opened, is a pipe that nobody reads, or another job writes it, RuntimeFailure for a signal while it waits for that
  /// job, and what predict_step throws for the cluster: MissingFile, InvalidFile or InvalidArgument.
  Trace(const TraceOptions& options, const Program& program, Communicator& comm, bool ranks_are_processes,
        std::function<void(const std::string&)> warn);

  /// Whether the next step is traced.
  bool takes_step() const { return !is_written_ && steps_ < options_.steps; }
  /// Ends a traced step; called between steps. After the last of the steps to trace, does what `finish` does, and
  /// throws as it does.
  void end_step(Recorder& recorder);
  /// Gathers the spans of all ranks, traced so far, on the first rank, which writes the file. Does nothing if that was
  /// done before. Warns if the file cannot be written. `recorder`: that of this rank. Collective. Throws RuntimeFailure
  /// if a rank is lost; the first rank then has written what it received.
  void finish(Recorder& recorder);
  /// Saves the spans of a failing training, unless they are written already. If `all_fail`, the first rank gathers the
  /// spans of all ranks and writes those that it gets. Otherwise each rank writes its own: the first to the file, rank
  /// R to FILE.rank_R; so does any other rank whose part of the gathering fails. Ignores errors.
  void rescue(Recorder& recorder, bool all_fail) noexcept;

 private:
  RankTrace own(Recorder& recorder) const;
  void gather(const RankTrace& own, Timeout timeout);
  /// Adds the predicted spans of all ranks, aligned with the steps of the first rank. Does nothing on other ranks,
  /// which have no prediction.
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
  std::optional<OwnerLock> lock_;  // lock on the first rank's file
  std::ofstream out_;
  ClockOffset clock_;
  int64_t steps_ = 0;  // steps recorded
  bool is_written_ = false;
};

}  // namespace partita
