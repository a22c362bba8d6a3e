#include "job/norm_values.h"

#include "compiler/plan/micro_cuts.h"

namespace partita {
namespace {

/// Returns, as text, the changes that give each of `groups` groups of rows two values per channel. Each group has one
/// row now.
std::string remedies(int64_t groups, int64_t micro_batches) {
  const std::string batch = fmt::format("a batch of at least {}", 2 * groups);
  if (groups == 1) return batch;
  return batch + (micro_batches > 1 ? ", or fewer ranks or micro-batches" : ", fewer ranks, or --batch-norm global");
}

}  // namespace

void require_several_values(const Graph& graph, const OpSet& ops, int64_t micro_batches) {
  for (const Node& node : graph.nodes) {
    const OpTraits& traits = ops.at(node.op).traits;
    if (!traits.batch_statistics) continue;
    const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
    const BatchStatistics statistics = traits.batch_statistics({node.attrs, inputs, outputs});
    if (statistics.values != 1) continue;
    throw InvalidArgument(
        "[batch_norm] each channel has only one value, which is always normalised to 0, got {} {} in {}, expected {}",
        print(inputs[0]),
        statistics.groups == 1 ? "as one group of rows" : fmt::format("in {} groups of rows", statistics.groups),
        described_with_line(node), remedies(statistics.groups, micro_batches));
  }
}

}  // namespace partita
