#pragma once
// The values that stages of a pipeline send to one another, on one rank.

#include <deque>

#include "compiler/schedule/timeline.h"
#include "runtime/execute/stage_executor.h"

namespace partita {

/// A message goes from a rank to another in the order in which the sender's group makes the values; what a receiver
/// does not need yet goes into the copy that its micro-batch has there.
class Transfers {
 public:
  /// `own`: the executors of this rank's stages, null for others. `world` has all ranks of the pipeline and nobody else
  /// sends over it. The arguments outlive the object.
  Transfers(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const std::vector<StageExecutor*>& own,
            Communicator& world);

  void record(Recorder* recorder) { recorder_ = recorder; }
  void begin_step();
  /// What is sent where a section begins.
  void begin(const Run& run);
  /// What an instruction needs, and what is sent behind it.
  void before(const Run& run, size_t instruction);
  void behind(const Run& run, size_t instruction);
  /// Every stage gets what it needs of others before the update; all ranks take part.
  void share_verdict();

 private:
  /// A part of a value that one rank sends to another, as a box of what it holds.
  struct Piece {
    int peer = 0;  // a rank of the world
    Box box;
    int64_t elements = 0;
  };
  /// On this rank.
  struct Ends {
    std::vector<Piece> sends, receives;
    bool comes_here = false;
    int64_t received = 0;  // how often in this step
  };
  /// How far this rank has followed what another group sends.
  struct Source {
    std::vector<Run> runs;
    size_t run = 0;
    std::vector<size_t> open{};  // transfers of the run that are still to come
    bool begun = false;
  };

  void find_ends(size_t transfer);
  void find_verdict();
  Span span_of(Span::Kind kind, size_t transfer, int64_t micro_batch) const;
  void send(size_t transfer, int64_t micro_batch);
  void receive(size_t transfer, int64_t micro_batch);
  /// The next message of a group; false when there is none in this step any more.
  bool receive_next(Source& source);
  /// Until a transfer of a micro-batch is here.
  void await(size_t transfer, int64_t micro_batch);

  const Pipeline& pipeline_;
  const std::vector<StageProgram>& stages_;
  const std::vector<StageExecutor*>& own_;
  Communicator& world_;
  Recorder* recorder_ = nullptr;
  const std::vector<SendPoint> points_;
  const std::vector<std::optional<size_t>> relayed_;
  std::vector<Ends> ends_;                                              // per transfer
  std::map<int, Source> sources_;                                       // by group
  std::map<int, std::map<size_t, std::vector<size_t>>> reads_, sends_;  // of own stages, by instruction
  std::map<std::pair<int, Section>, std::vector<size_t>> at_begin_;     // of own stages
  std::deque<std::vector<std::byte>> to_itself_;
  std::vector<std::byte> staging_;
  // The verdict: what each rank brings, and where the parts of others go.
  std::vector<int64_t> verdict_bytes_;  // per rank
  std::vector<std::pair<StageExecutor*, int>> verdict_given_;
  struct VerdictPart {
    int64_t offset;
    int64_t bytes;
    StageExecutor* stage;
    int buffer;
  };
  std::vector<VerdictPart> verdict_taken_;
  std::vector<std::byte> verdict_own_, verdict_all_;
};

}  // namespace partita
