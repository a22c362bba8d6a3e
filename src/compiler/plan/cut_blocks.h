#pragma once
// Sharding of transformers over more than the batch. Products of a block are cut by columns, then by rows (Shoeybi et
// al., 2019, "Megatron-LM"); what is between them is cut along the sequence (Korthikanti et al., 2022, "Reducing
// activation recomputation in large transformer models").

#include "compiler/plan/block_sharding.h"
#include "compiler/plan/complete_plan.h"

namespace partita {

/// Returns a mesh with the axes `data` (all remaining ranks), `context` and `tensor`, the fastest last. Axes of one
/// rank are left out. Throws InvalidArgument if `tensor` times `context` of `sharding` does not divide `ranks`, and for
/// more than kMaxMeshRanks ranks.
Mesh block_mesh(int64_t ranks, const BlockSharding& sharding);

/// Sub-axes of the axes `context` and `tensor` of a mesh; empty where `sharding` has the size 1. `block_axes` throws
/// InvalidArgument if the mesh lacks an axis that `sharding` gives more than one rank, or has it with another size.
struct BlockAxes {
  Axes context, tensor;
};
BlockAxes block_axes(const Mesh& mesh, const BlockSharding& sharding);

/// Adds to `partial` the cuts of the forward nodes from the first table look-up or norm of rows to the logits. Nodes
/// are recognised by their sharding rules alone.
/// A product of a parameter and normalised rows is cut by columns over the axis `tensor`. So is what depends on its
/// columns, up to a product that sums over them. A table of looked-up rows is cut by rows. All other values [batch,
/// sequence, width] are whole on the ranks of `tensor`, or cut along the sequence over it if `sharding.sequence` is
/// set. The axis `context` cuts the sequence; other axes cut the batch.
/// Cuts that `partial` has already decided are kept. Throws InvalidArgument if there is no such product, if one has too
/// few columns or rows for the ranks of `tensor` or a table too few rows, and as `block_axes` does.
PartialPlan cut_blocks(const Graph& graph, const Rules& rules, const Mesh& mesh, const BlockSharding& sharding,
                       PartialPlan partial);

}  // namespace partita
