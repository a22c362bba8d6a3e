#pragma once
// All programs of one rank of a job.

#include "compiler/emit/held_bytes.h"

namespace partita {

/// A program that a rank compiles for its accelerator.
struct RankProgram {
  int stage = 0;
  Section section = Section::once;
  std::string first, last;  // nodes of its first and last instruction
  int64_t ops = 0;          // computations, and sums over micro-batches
  int64_t segments = 1;     // segments and micro-batches whose text this is
  int64_t replicas = 1;     // ranks that run it together
  HeldBytes held;           // the largest among these segments; with the states of all stages of the rank
  std::string text;         // StableHLO
};

/// The programs of a rank, and its instructions between them.
struct RankPrograms {
  std::vector<RankProgram> programs;  // in the order of the schedule, lowest stage first; each text once
  int64_t host_ops = 0;               // computations that the host runs
  int64_t messages = 0;               // collectives, or buckets of them, between programs
  int64_t sent = 0;                   // values that it sends to stages of other ranks, one by one
};

/// Returns the programs that `rank` of the world runs in a step of these stages, which were made with a
/// catalog of accelerators.
/// Throws InvalidArgument for an op that cannot be written, and in whole mode for a stage that `refusal_of_whole`
/// refuses; InternalError for a rank that does not exist.
RankPrograms programs_of_rank(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops,
                              int64_t rank, CollectiveMode mode = CollectiveMode::cut);

}  // namespace partita
