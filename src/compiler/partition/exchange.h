#pragma once
// Boxes of a value that the ranks of a collective exchange, and the staging memory for them.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Parts of the coarser value of an all_gather or reduce_scatter, one per member of a rank's group.
struct Parts {
  std::vector<Box> ranges;      // range of each member, relative to the rank's coarser shard
  std::vector<int64_t> counts;  // number of elements of each
};
Parts parts_of(const LocalGraph& local, NodeId node, int64_t rank);

/// Boxes that a rank sends to and receives from each member of its group in an all_to_all, permute or halo_exchange:
/// `send` relative to its shard of the operand, `receive` to its shard of the result.
struct Exchange {
  std::vector<Box> send, receive;
  std::vector<int64_t> send_counts, receive_counts;  // number of elements of each
};
Exchange exchange_of(const LocalGraph& local, NodeId node, int64_t rank);

/// Returns the box, relative to the operand's shard on a rank, that a slice_shard keeps in a micro-batch.
Box slice_of(const LocalGraph& local, NodeId node, int64_t rank, int64_t micro_batch = 0);
/// Returns the box, relative to the result's shard on a rank, that a stack_micro_batches fills with its operand.
Box stacked_at(const LocalGraph& local, NodeId node, int64_t rank, int64_t micro_batch);

/// Bytes of the buffers in which boxes lie one after another, in the type on the wire, before they are sent and after
/// they are received; 0 if the operand or the result already is such a buffer.
struct Staging {
  int64_t send = 0, receive = 0;

  int64_t receive_offset() const { return (send + 63) / 64 * 64; }
  int64_t bytes() const { return receive == 0 ? send : receive_offset() + receive; }
};
/// Returns the bytes on the wire of the largest operand that any rank gives a collective.
int64_t max_wire_bytes(const LocalGraph& local, const Node& node);
/// Returns the staging of a node on one rank; empty for nodes that are no collectives or need none.
Staging staging_of(const LocalGraph& local, NodeId node, int64_t rank);
/// Whether a reduce_scatter with another type on the wire can round its operand in place: its parts are contiguous. The
/// caller checks that nothing else reads the operand.
bool can_round_in_place(const LocalGraph& local, NodeId node);
/// Returns staging of a node that suffices for every rank, without a look at each; empty for nodes that are no
/// collectives or need none.
Staging largest_staging(const LocalGraph& local, NodeId node);

}  // namespace partita
