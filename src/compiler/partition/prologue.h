#pragma once
// The prologue runs before the micro-batches and computes what each of them needs of all of them, such as the number of
// valid labels by which a mean over the global batch is divided.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Nodes of the prologue. `loop`: per node, whether it runs for each micro-batch in a loop before the main one.
/// `joined`: per node, whether it runs once after that loop.
struct Prologue {
  std::vector<bool> loop, joined;
};

/// Finds the prologue: the nodes that make joined values that nodes of a micro-batch use, and everything that leads to
/// them. There are none without micro-batches. Throws InternalError if a prologue cannot compute such a value, since it
/// comes from another stage or from the update, or needs a prologue of its own.
Prologue find_prologue(const LocalGraph& local);

/// Returns the same graph, with a copy of each node that the prologue's loop shares with other nodes. A copy has the
/// same attributes and so draws the same random numbers. Throws as `find_prologue` does.
LocalGraph with_own_prologue(LocalGraph local);

}  // namespace partita
