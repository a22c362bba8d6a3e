#pragma once
// What a schedule's instructions and messages take on a cluster.

#include "compiler/schedule/stage_program.h"
#include "planner/cluster/compute_seconds.h"

namespace partita {

/// A value that a stage sends to another one, for one micro-batch.
struct TransferPrice {
  double send = 0;     // seconds of the ranks that send, which compute nothing meanwhile
  double message = 0;  // on the links, beside what both compute
  double receive = 0;  // seconds of the ranks that receive
};

/// Seconds with nothing else at the same time.
struct StepPrices {
  std::vector<std::vector<double>> instructions;  // by stage; of a start those of the message
  std::vector<TransferPrice> transfers;
  double verdict = 0;   // of the numbers that all stages share
  double overhead = 0;  // of a step, beside its instructions
  double overlap_slowdown = 1;
  double cores = 0;         // that all ranks share; 0: each has a device of its own
  double rank_threads = 1;  // cores that a rank keeps busy while it computes
  double busy_share = 1;    // of a core's speed that is left while all others are busy
};

/// The kernel of each instruction by what it does on the largest shard, each collective by the place of its group, at
/// their sizes in the schedule; what is a view costs nothing. The cluster is resized to the ranks of the pipeline.
/// `threads`: of each rank, where ranks share cores; 0: as many as there are cores for each. Throws InvalidArgument for
/// a cluster of too few ranks.
StepPrices prices_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops,
                     const Cluster& cluster, int threads = 0);

/// What an instruction computes, or copies within its rank; 0 bytes for one that does neither.
Work instruction_work(const Instruction& instruction, const LocalGraph& local, const Schedule& schedule,
                      const Rules& rules);

}  // namespace partita
