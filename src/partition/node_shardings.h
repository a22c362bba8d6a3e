#pragma once
// How the shardings of a node's operands, its cut and the shardings of its results belong together.

#include "partition/local_graph.h"

namespace partita {

/// What the results stay partial over because the op is linear in exactly its partial operands, which lie as the
/// cut needs them; no axes when the operands have to be reduced first.
Sharding passed_partial(const ShardingRule& rule, const Cut& cut, const std::vector<Sharding>& operands);

/// The sharding of result k: the cut's, and partial over what the operands pass on too.
Sharding result_sharding(const ShardingRule& rule, const Cut& cut, const Sharding& passed, int k);

/// Throws InternalError unless the shardings of a node's operands and results follow from its cut, or, of a
/// collective, differ by what it does.
void verify_shardings(const LocalGraph& local, NodeId id, const OpSet& ops);

}  // namespace partita
