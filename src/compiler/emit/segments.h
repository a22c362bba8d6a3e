#pragma once
// Programs for accelerators: a schedule cut into ranges of instructions that a device runs as one module of StableHLO.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Name of the kernel of nodes that run as a part of a program. Nodes with another one run on the host.
inline constexpr std::string_view kProgramKernel = "xla";

/// Consecutive instructions that run as one program. Places are indices of buffers (`places_of`).
struct Segment {
  size_t begin = 0, end = 0;
  std::vector<int> inputs;   // places that it reads before it writes them
  std::vector<int> outputs;  // places that it writes and that something outside reads, or the next micro-batch
  bool accumulates = false;  // its module takes one operand more: whether this is the first micro-batch
};

/// Returns for each buffer the one whose memory it shares for a whole step: the buffer of which it is a view, or the
/// state that it overwrites, else itself.
std::vector<int> places_of(const Schedule& schedule);

/// Whether an instruction is a part of a program: computations by kProgramKernel, copies, and sums over micro-batches.
bool in_program(const Instruction& instruction);

/// Returns the segments of a schedule in order: the longest ranges of instructions that are parts of programs. No
/// segment goes on past an instruction in `borders`.
std::vector<Segment> segments_of(const Schedule& schedule, const std::vector<size_t>& borders);
/// Returns the segment of one instruction, which is part of a program.
Segment segment_of(const Schedule& schedule, size_t instruction);

/// Returns the module of a segment for the rank at `coordinates`, which include the micro-batch if there is such an
/// axis: a function "main" from the inputs, and the flag of a first micro-batch if the segment accumulates, to the
/// outputs. An input that is an output of the same type is donated. `ops` has the ops of the graph. Throws
/// InvalidArgument for an op that cannot be written.
std::string module_of(const Segment& segment, const Schedule& schedule, const LocalGraph& local, const OpSet& ops,
                      const std::vector<int64_t>& coordinates);

}  // namespace partita
