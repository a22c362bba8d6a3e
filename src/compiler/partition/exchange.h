#pragma once
// Which boxes of a value the ranks of a collective give to one another, and the memory that these pass through.

#include "compiler/partition/local_graph.h"

namespace partita {

/// How the coarser value of an all_gather or reduce_scatter falls apart over the group of a rank.
struct Parts {
  std::vector<Box> ranges;      // of each member, in the coarser shard
  std::vector<int64_t> counts;  // their elements
};
Parts parts_of(const LocalGraph& local, NodeId node, int64_t rank);

/// What a rank sends to and gets from each member of its group in an all_to_all, permute or halo_exchange: boxes of its
/// operand and of its result.
struct Exchange {
  std::vector<Box> send, receive;
  std::vector<int64_t> send_counts, receive_counts;  // their elements
};
Exchange exchange_of(const LocalGraph& local, NodeId node, int64_t rank);

/// What a slice_shard keeps of its operand in a micro-batch.
Box slice_of(const LocalGraph& local, NodeId node, int64_t rank, int64_t micro_batch = 0);
/// Where the operand of a stack_micro_batches stands in its result.
Box stacked_at(const LocalGraph& local, NodeId node, int64_t rank, int64_t micro_batch);

/// Bytes in which boxes lie one behind the other before they are sent and when they came; 0 where they lie so anyway.
struct Staging {
  int64_t send = 0, receive = 0;

  int64_t receive_offset() const { return (send + 63) / 64 * 64; }
  int64_t bytes() const { return receive == 0 ? send : receive_offset() + receive; }
};
/// Of one rank.
Staging staging_of(const LocalGraph& local, NodeId node, int64_t rank);
/// Enough for every rank, without looking at each.
Staging largest_staging(const LocalGraph& local, NodeId node);

}  // namespace partita
