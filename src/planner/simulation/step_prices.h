#pragma once
// The times that the instructions and messages of a program take on a cluster.

#include "compiler/schedule/stage_program.h"
#include "planner/cluster/compute_seconds.h"

namespace partita {

/// Seconds of a transfer of a value from one stage to another, for one micro-batch.
struct TransferPrice {
  double send = 0;     // on the sending ranks, which compute nothing then
  double message = 0;  // on the links, overlapped with the computation of both stages
  double receive = 0;  // on the receiving ranks, which compute nothing then
};

/// Seconds of each part of a step, while nothing else runs.
struct StepPrices {
  std::vector<std::vector<double>> instructions;  // per stage; for a start, the seconds of its message
  std::vector<TransferPrice> transfers;
  double verdict = 0;           // all-gather of the few numbers that all stages share
  double overhead = 0;          // overhead of a step, in addition to its instructions
  double overlap_slowdown = 1;  // factor on computation while a message overlaps it
  double cores = 0;             // cores that all ranks share; 0: each rank has its own device
  double rank_threads = 1;      // cores that a rank keeps busy while it computes
  double busy_share = 1;        // share of a core's speed that is left while all others are busy
};

/// Prices a program. Kernels are priced by their work on the largest shard, collectives by the placement of their
/// group, at the sizes of the schedule; views are free. The cluster is resized to the ranks of the pipeline
/// (`resized`). `threads` is the number of threads of each rank if ranks share cores; 0: its share of the cores. Throws
/// InvalidArgument if the cluster has too few ranks.
StepPrices prices_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops,
                     const Cluster& cluster, int threads = 0);

/// The work of an instruction that computes or copies within its rank; empty work for a view and for any other
/// instruction.
Work instruction_work(const Instruction& instruction, const LocalGraph& local, const Schedule& schedule,
                      const Rules& rules);

}  // namespace partita
