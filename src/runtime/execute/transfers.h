#pragma once
// Sends and receives the values that stages of a pipeline exchange, on one rank.

#include "compiler/schedule/timeline.h"
#include "runtime/execute/host_messages.h"
#include "runtime/execute/stage_executor.h"
#include "runtime/execute/xla/device_mail.h"

namespace partita {

/// Messages from one rank to another are sent in the order in which the sender's group computes the values. A received
/// value that is not needed yet is stored in the buffer copy of its micro-batch. A whole value of an accelerator goes
/// to that of the receiver without the host's memory, if there is mail between them. Functions that send or receive
/// throw RankFailures, and those that send also the error of the program that computes the value.
class Transfers {
 public:
  /// `own` has the executor of each of this rank's stages, null for other stages. `world` has all ranks of the pipeline
  /// and carries no other messages. `mail` is that of their accelerators, or null. The arguments outlive this object.
  Transfers(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const std::vector<StageExecutor*>& own,
            Communicator& world, const DeviceMail* mail);

  void record(Recorder* recorder) { recorder_ = recorder; }
  /// Forgets which values were received in the previous step. Call it at the start of each step.
  void begin_step();
  /// Sends the values that are due at the start of the run's section, in the run's micro-batch. First waits for each of
  /// them that this stage received itself. Does nothing if the run does not begin a section. Throws as the class says.
  void begin(const Run& run);
  /// `before` waits for the values that an instruction of the run needs in the run's micro-batch. `after` sends the
  /// values that are due after it. Both do nothing if there are none, and throw as the class says.
  void before(const Run& run, size_t instruction);
  void after(const Run& run, size_t instruction);
  /// Receives the values of this step that have not been received yet. Then, if stages need anything of one another
  /// before the update, gathers it on all ranks and copies it to the inputs of this rank's stages. Called once per
  /// step, by all ranks of `world`. Throws as the class says.
  void share_verdict();

 private:
  /// The part of a value that one rank sends to another, as a box within what that rank holds.
  struct Piece {
    int peer = 0;  // rank in the world
    Box box;
    int64_t elements = 0;
    bool is_mail = false;  // whether it is all of what both ranks hold, and goes from device to device
  };
  /// The pieces of one transfer that this rank sends and receives.
  struct Ends {
    std::vector<Piece> sends, receives;
    bool comes_here = false;
    int64_t received = 0;  // how many times in this step
  };
  /// How far this rank has received what another group sends in this step.
  struct Source {
    std::vector<Run> runs;
    size_t run = 0;
    std::vector<size_t> open{};  // transfers of the current run that are still to come
    bool begun = false;
  };

  void find_ends(size_t transfer);
  void find_verdict();
  Span span_of(Span::Kind kind, size_t transfer, int64_t micro_batch) const;
  void send(size_t transfer, int64_t micro_batch);
  void receive(size_t transfer, int64_t micro_batch);
  /// Receives the next value that the group of `source` sends to this rank in this step. Returns false if there is
  /// none. Throws as the class says.
  bool receive_next(Source& source);
  /// Receives values of the transfer's sender, in the order in which it sends them, until that of the given transfer
  /// and micro-batch has arrived. Throws InternalError if nobody sends it, and as the class says.
  void await(size_t transfer, int64_t micro_batch);

  const Pipeline& pipeline_;
  const std::vector<StageProgram>& stages_;
  const std::vector<StageExecutor*>& own_;
  Communicator& world_;
  HostMessages messages_;
  const DeviceMail* mail_;
  Recorder* recorder_ = nullptr;
  const std::vector<SendPoint> points_;
  const std::vector<std::optional<size_t>> relayed_;
  std::vector<Ends> ends_;         // per transfer
  std::map<int, Source> sources_;  // by sending group
  /// Transfers of this rank's stages, by stage and instruction.
  std::map<std::pair<int, size_t>, std::vector<size_t>> reads_, sends_;
  std::map<std::pair<int, Section>, std::vector<size_t>> at_begin_;  // transfers of this rank's stages
  // Verdict: what each rank contributes, and where the parts of others are written.
  std::vector<int64_t> verdict_bytes_;  // bytes per rank
  std::vector<std::pair<StageExecutor*, int>> verdict_given_;
  struct VerdictPart {
    int64_t offset, bytes;
    StageExecutor* stage;
    int buffer;
  };
  std::vector<VerdictPart> verdict_taken_;
  std::vector<std::byte> verdict_own_, verdict_all_;
};

}  // namespace partita
