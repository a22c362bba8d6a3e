#pragma once
// User options for optimizer sharding (compiler/plan/shard_optimizer.h).

#include <cstdint>

namespace partita {

struct OptimizerSharding {
  /// ZeRO level.
  /// 0: every rank keeps everything.
  /// 1: optimizer states are sharded, and with them updates and what is computed from gradients. A gradient is
  /// reduce-scattered, a new parameter gathered.
  /// 2: gradients are also sharded as they are made. With micro-batches this applies to each of them, so sums over
  /// micro-batches are kept in parts.
  /// 3: parameters are sharded too. The forward pass gathers each at its first use, and the backward pass gathers it
  /// again.
  int64_t level = 0;
  int64_t group = 0;                      // ranks that share one copy; 0: all that share the batch
  int64_t threshold = int64_t{64} << 10;  // bytes; smaller parameters are not sharded
};

}  // namespace partita
