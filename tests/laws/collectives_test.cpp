// Which collectives a node needs: with operands that lie as its cut wants them, the sums that its rule declares and the
// halos of its windows, and nothing else.

#include "compiler/partition/collectives.h"

#include <gtest/gtest.h>

#include "compiler/partition/partition.h"
#include "harness.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"

namespace partita::laws {
namespace {

using Counts = std::map<std::string, int>;

std::string print_counts(const Counts& counts) {
  std::vector<std::string> texts;
  for (const auto& [text, count] : counts) texts.push_back(fmt::format("{} x {}", count, text));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// The graph of one node, partitioned under a cut.
LocalGraph partitioned(const Case& node, const Graph& graph, const ShardingRule& rule, const Cut& cut,
                       const Mesh& mesh) {
  Plan plan{.graph = graph.name, .search = "law", .mesh = mesh, .inputs = {}, .cuts = {cut}, .results = {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) plan.inputs.push_back(dims_from_factors(rule, cut, rule.inputs[i]));
  return partition(graph, all_ops(), plan);
}

bool has_cut_window(const ShardingRule& rule, const Cut& cut, size_t operand) {
  for (const DimMap& dim : rule.inputs[operand]) {
    if (!dim.window) continue;
    for (const int factor : dim.factors) {
      if (!cut[factor].empty()) return true;
    }
  }
  return false;
}

/// An operand under a window has another size than the factor that cuts it. Where it has fewer elements than there are
/// parts, some of its holders would have nothing to exchange: it is gathered instead.
bool is_too_short(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::vector<Axes> dims = dims_from_factors(rule, cut, rule.inputs[i]);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (mesh.ways(dims[d]) > node.input_types[i].shape[d]) return true;
    }
  }
  return false;
}

/// "" or how the collectives differ from what the rule says.
std::string check(const Case& node, const LocalGraph& local, const ShardingRule& rule, const Cut& cut) {
  const Mesh& mesh = local.mesh;
  Counts expected, got;
  int halos = 0, windows = 0;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const Sharding sharding = output_sharding(rule, cut, static_cast<int>(k));
    if (!sharding.partial.empty()) {
      ++expected[fmt::format("all_reduce {} over {}", name_of(sharding.kind), mesh.print(sharding.partial))];
    }
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) windows += has_cut_window(rule, cut, i);
  for (const Node& one : local.graph.nodes) {
    if (!is_collective(one)) continue;
    if (performs(one, Collective::halo_exchange)) {
      ++halos;
    } else {
      const auto& attrs = one.attrs.as<CollectiveAttrs>();
      ++got[fmt::format("{} {} over {}", one.op, name_of(attrs.reduce), fmt::join(attrs.axes, ","))];
    }
  }
  if (got != expected) return fmt::format("{}, expected {}", print_counts(got), print_counts(expected));
  return halos <= windows ? "" : fmt::format("{} halo exchanges for {} windows", halos, windows);
}

/// Whether the expansion of an op gathers rows: a step of a recurrence multiplies the whole state of the one before.
bool gathers_states(const OpDef& op) {
  return op.name == "lstm" || op.name == "gru" || op.name == "gru_grad" || op.name == "rnn";
}

/// "" or a collective that is no sum: an expansion works on shards, too.
std::string check_expanded(const OpDef& op, const LocalGraph& local) {
  for (const Node& node : local.graph.nodes) {
    const std::optional<Collective> kind = collective_of(node);
    if (kind == Collective::all_gather && gathers_states(op)) continue;
    if (kind && !reduces(*kind) && kind != Collective::slice) {
      return fmt::format("{} of {}", node.op, print(local.graph.type(node.inputs[0])));
    }
  }
  return "";
}

class CollectiveLaws : public testing::TestWithParam<const OpDef*> {};

TEST_P(CollectiveLaws, OnlySumsAndHalos) {
  const OpDef& op = *GetParam();
  int cuts = 0;
  for (const Sample& sample : op.samples) {
    const Case node(op, sample);
    Builder builder(all_ops());
    std::vector<Value> inputs;
    for (const Type& type : node.input_types) {
      inputs.push_back(builder.input(fmt::format("input{}", inputs.size()), type));
    }
    const std::vector<Value> outputs = builder.apply_all(op.name, inputs, node.attrs);
    for (size_t k = 0; k < outputs.size(); ++k) builder.output(fmt::format("output{}", k), outputs[k]);
    const Graph graph = builder.graph();
    const ShardingRule rule = op.rule(node.call());
    for (const Mesh& mesh : {Mesh({{"x", 2}}), Mesh({{"x", 3}}), Mesh({{"x", 2}, {"y", 2}})}) {
      for_cuts(rule, mesh, [&](const Cut& cut) {
        if (HasFailure() || !illegal(rule, cut, mesh).empty() || is_too_short(node, rule, cut, mesh)) return;
        ++cuts;
        const LocalGraph local = partitioned(node, graph, rule, cut, mesh);
        const std::string wrong =
            needs_expansion(rule, cut) ? check_expanded(op, local) : check(node, local, rule, cut);
        EXPECT_EQ(wrong, "") << op.name << ": " << print(rule, cut, mesh);
      });
    }
  }
  EXPECT_GT(cuts, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, CollectiveLaws, testing::ValuesIn(every_op()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace partita::laws
