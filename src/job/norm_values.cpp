#include "job/norm_values.h"

#include "lowering/micro_cuts.h"
#include "ops/norm/batch_norm.h"

namespace partita {
namespace {

/// Changes that give each group of rows two values per channel; it has one row of one value.
std::string remedies(int64_t groups, int64_t micro_batches) {
  const std::string batch = fmt::format("a batch of at least {}", 2 * groups);
  if (groups == 1) return batch;
  return batch + (micro_batches > 1 ? ", or fewer ranks or micro-batches" : ", fewer ranks, or --batch-norm global");
}

}  // namespace

void require_several_values(const Graph& graph, int64_t micro_batches) {
  for (const Node& node : graph.nodes) {
    if (node.op != "batch_norm") continue;
    const Type& x = graph.type(node.inputs[0]);
    const NormSizes sizes = norm_sizes(x.shape, node.attrs.as<BatchNormAttrs>().groups);
    if (sizes.count() != 1) continue;
    throw InvalidArgument(fmt::format(
        "[batch_norm] each channel has one value, which is normalised to 0 whatever it is, got {} {} in {}, expected "
        "{}",
        print(x), sizes.groups == 1 ? "as one group of rows" : fmt::format("in {} groups of rows", sizes.groups),
        described_with_line(node), remedies(sizes.groups, micro_batches)));
  }
}

}  // namespace partita
