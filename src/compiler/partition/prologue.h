#pragma once
// What runs before the micro-batches because each of them needs what all of them make: the count of valid labels, by
// which a mean over the global batch is divided.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Of each node whether it is a part of the prologue. `loop`: it runs for each micro-batch, in a loop before the
/// others. `joined`: it runs once, behind that loop.
struct Prologue {
  std::vector<bool> loop, joined;
};

/// A node of a micro-batch that uses what micro-batches joined has it from the prologue, and so has all that leads to
/// it. Throws InternalError when a prologue cannot make it: it comes from another stage or from the update, or needs
/// another prologue first.
Prologue find_prologue(const LocalGraph& local);

/// The same graph, in which the loop of the prologue shares no node with the others: what both need is there twice,
/// with the same attributes, hence with the same random numbers.
LocalGraph with_own_prologue(LocalGraph local);

}  // namespace partita
