#pragma once
// Programs for accelerators: a schedule cut into ranges of instructions that a device runs as one module of StableHLO.

#include <algorithm>
#include <optional>

#include "compiler/emit/collective_mode.h"
#include "compiler/emit/id_checks.h"
#include "compiler/emit/update_guard.h"
#include "compiler/schedule/timeline.h"

namespace partita {

/// Names of the kernels of nodes that run as a part of a program: as operations, or as a call of cuDNN
/// (`OpDef::cudnn`). Nodes with another one run on the host.
inline constexpr std::string_view kProgramKernel = "xla", kCudnnKernel = "cudnn";

/// Consecutive instructions that run as one program. Places are indices of buffers (`places_of`).
struct Segment {
  size_t begin = 0, end = 0;
  std::vector<int> inputs;   // places that it reads before it writes them
  std::vector<int> outputs;  // places that it writes and that something outside reads, or the next micro-batch
  bool accumulates = false;  // its module takes one operand more: whether this is the first micro-batch
  /// Instructions whose ids it checks. Its module gives one result more, `emit_id_flags`, if there are any.
  std::vector<size_t> checks{};
  /// Whether its module takes one operand more, whether all was good before it, and gives one result more, whether all
  /// is good after it (UpdateGuard): it checks ids, or it writes states.
  bool takes_good = false;
  /// Whether it keeps the old states unless all is good. Its module takes one operand more, kFiniteOperand.
  bool guards = false;
};

/// Whether programs that write states are guarded where that is possible (`update_guard_of`).
enum class Guarding { none, where_possible };
/// Returns `none` for stages of a pipeline, which exchange what they found before the update.
inline Guarding guarding_of(const std::vector<StageProgram>& stages) {
  return stages.size() == 1 ? Guarding::where_possible : Guarding::none;
}

/// Returns for each buffer the one whose memory it shares for a whole step: the buffer of which it is a view, or the
/// state that it overwrites, else itself.
std::vector<int> places_of(const Schedule& schedule);

/// Returns the instructions of a stage before which a segment ends: where a run of the stage begins or ends, where a
/// value is needed that another stage sends, and where one is sent. Values that are sent with the verdict end none.
std::vector<size_t> borders_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, size_t stage);

/// The instruction after which nobody reads a place any more.
struct LastReader {
  size_t instruction = 0;
  bool in_each_micro_batch = false;  // false: after its run in the last one, since several use the value
};

/// Cuts a schedule into segments and writes their modules.
class Segmenter {
 public:
  /// The arguments outlive this object. `ops` has the ops of the graph.
  Segmenter(const Schedule& schedule, const LocalGraph& local, const OpSet& ops,
            CollectiveMode mode = CollectiveMode::cut, Guarding guarding = Guarding::none);

  CollectiveMode mode() const { return mode_; }
  const Schedule& schedule() const { return schedule_; }
  const LocalGraph& local() const { return local_; }
  /// Whether an instruction is a part of a program: a computation by one of the kernels above, a copy, a sum over
  /// micro-batches, and in whole mode a collective (`is_emitted_collective`).
  bool in_program(const Instruction& instruction) const;

  /// Whether programs do all instructions.
  bool runs_all() const {
    return std::ranges::all_of(schedule_.instructions, [&](const Instruction& one) { return in_program(one); });
  }

  /// `places_of` the schedule.
  const std::vector<int>& places() const { return places_; }
  /// Sharding rules of the local graph.
  const Rules& rules() const { return rules_; }
  /// `id_checks_of` the schedule.
  const std::vector<IdCheck>& id_checks() const { return id_checks_; }
  /// The guard of the update; none: the host looks at the step before it.
  const std::optional<UpdateGuard>& guard() const { return guard_; }
  /// Returns the type of a buffer in programs: that of its shard on the rank at `coordinates`, in whole mode that of
  /// the largest shard (compiler/emit/uneven_shards.h).
  Type type_of(int buffer, const std::vector<int64_t>& coordinates) const;
  /// Returns the places that an instruction writes.
  std::vector<int> writes_of(const Instruction& instruction) const;
  /// Returns the segments in order: the longest ranges of instructions that are parts of programs. No segment goes on
  /// past an instruction in `borders`, unless the update is guarded and there are no micro-batches: then a step may be
  /// one program. What runs in the last micro-batch only is in segments of its own.
  std::vector<Segment> segments(const std::vector<size_t>& borders) const;
  /// Returns the segment of one instruction, which is part of a program. It gives all that it writes, and checks no
  /// ids.
  Segment segment_of(size_t instruction) const;
  /// Returns for each place its last reader in a step. None: a state or an output, which stays; a sum over
  /// micro-batches, whose place the next step takes; and a place that nobody reads.
  std::vector<std::optional<LastReader>> last_readers() const;

  /// Returns the module of a segment for the rank at `coordinates`, which include the micro-batch if there is such an
  /// axis: a function "main" from the inputs, the flag of a first micro-batch if the segment accumulates, and the
  /// operands of its guard, to the outputs, whether all is good, and the flags of its checks. An input that is an
  /// output of the same type is donated. In whole mode it is the module of all ranks in the micro-batch. Throws
  /// InvalidArgument for an op that cannot be written.
  std::string module_of(const Segment& segment, const std::vector<int64_t>& coordinates) const;
  /// Returns the modules of a segment for a rank of its stage's mesh: one, or one per micro-batch if these differ.
  /// Throws as `module_of` does.
  std::vector<std::string> modules_of(const Segment& segment, int64_t rank) const;

 private:
  class Writer;
  struct Uses {
    std::vector<size_t> readers, writers;  // instructions, in order
  };

  /// Whether an instruction does nothing: in a program, the wait for a collective.
  bool does_nothing(const Instruction& instruction) const {
    return mode_ == CollectiveMode::whole && instruction.kind == Instruction::wait;
  }
  std::vector<int> reads_of(const Instruction& instruction) const;
  Segment segment(size_t begin, size_t end, bool gives_all) const;
  void add_guard(Segment& segment) const;

  const Schedule& schedule_;
  const LocalGraph& local_;
  const OpSet& ops_;
  const CollectiveMode mode_;
  const Rules rules_;
  const std::vector<int> places_;
  std::vector<Uses> uses_;      // by place
  std::vector<bool> is_kept_;   // by place: a state or an output
  std::vector<bool> is_state_;  // by place
  std::vector<IdCheck> id_checks_;
  std::optional<UpdateGuard> guard_;
};

}  // namespace partita
