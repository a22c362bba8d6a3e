#pragma once
// Random legal plans: every node cut at random, every input and state sharded at random.

#include "base/philox.h"
#include "compiler/plan/plan.h"

namespace partita {

/// Sequence of random numbers from a seed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : key_(random_key(seed, "plan")) {}
  int64_t below(int64_t count) { return static_cast<int64_t>(random_below(key_, at_++, 0, count)); }

 private:
  uint64_t key_;
  uint64_t at_ = 0;
};

/// Each axis on a random factor or on none; no cut after some bad luck.
Cut random_cut(const ShardingRule& rule, const Mesh& mesh, bool expandable, Dice& dice);

Plan random_plan(const Graph& graph, const Mesh& mesh, uint64_t seed);

/// A random plan with its optimizer sharded, whose batch runs in two micro-batches or more where it can be cut so:
/// where no rank would be without rows, and no random cut of a node needs the whole batch.
Plan random_plan_in_time(const Graph& graph, const Mesh& mesh, uint64_t seed);

}  // namespace partita
