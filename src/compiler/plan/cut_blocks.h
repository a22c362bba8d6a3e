#pragma once
// The known way to cut transformers beside the batch: the products of their blocks by columns, then by rows (Shoeybi et
// al., 2019, "Megatron-LM"), what stands between these along the sequence (Korthikanti et al., 2022, "Reducing
// activation recomputation in large transformer models").

#include "compiler/plan/block_sharding.h"
#include "compiler/plan/complete_plan.h"

namespace partita {

/// The ranks as `data`, whatever is left, `context` and `tensor`, the fastest, without those of one rank. Throws
/// InvalidArgument when they do not divide.
Mesh block_mesh(int64_t ranks, const BlockSharding& sharding);

/// The axes `context` and `tensor` of a mesh, none for one rank. Throws InvalidArgument when the mesh has others.
struct BlockAxes {
  Axes context, tensor;
};
BlockAxes block_axes(const Mesh& mesh, const BlockSharding& sharding);

/// Cuts of the forward nodes from the first look-up of rows, or the first norm of rows, to the logits, found by their
/// rules alone. A product of a
/// parameter and what was normalised is cut by columns over the axis `tensor`; what depends on its columns is, too, up
/// to a product that sums over them; a table of looked-up rows is cut by rows. All else that is [batch, sequence,
/// width] is not cut over `tensor`, or along the sequence when that is asked for. The axis `context` cuts the sequence,
/// other axes cut the batch. What `partial` has decided stays. Throws InvalidArgument when there is no such product, or
/// one has too few columns.
PartialPlan cut_blocks(const Graph& graph, const Rules& rules, const Mesh& mesh, const BlockSharding& sharding,
                       PartialPlan partial);

}  // namespace partita
