#include "plan/search/data_parallel.h"

#include <numeric>

#include "plan/propagate.h"

namespace partita {
namespace {

using Dims = std::vector<Axes>;

class DataParallel {
 public:
  DataParallel(const Graph& graph, const OpSet& ops, const Mesh& mesh) : graph_(graph), mesh_(mesh) {
    for (const Node& node : graph.nodes) {
      rules_.push_back(rule_of(graph, node, ops));
      expandable_.push_back(ops.at(node.op).expand != nullptr);
    }
    plan_ = {.graph = graph.name, .search = "data", .mesh = mesh, .inputs = {}, .cuts = {}};
    plan_.cuts.resize(graph.nodes.size());
    dims_.resize(graph.values.size());
  }

  Plan make() {
    cut_inputs();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) from_operands(n);
    for (size_t n = graph_.nodes.size(); n-- > 0;) from_users(n);
    return std::move(plan_);
  }

 private:
  void cut_inputs() {
    Axes all(mesh_.axes().size());
    std::iota(all.begin(), all.end(), 0);
    for (const Input& input : graph_.inputs) {
      Dims dims(graph_.type(input.value).shape.size());
      if (input.batch_dim >= 0) {
        check_divides(graph_.type(input.value).shape[input.batch_dim]);
        dims[input.batch_dim] = all;
      }
      dims_[input.value] = dims;
      plan_.inputs.push_back(std::move(dims));
    }
    for (const State& state : graph_.states) {
      dims_[state.entry].resize(graph_.type(state.entry).shape.size());
      plan_.inputs.push_back(dims_[state.entry]);
    }
  }

  void check_divides(int64_t batch) const {
    const int64_t ranks = mesh_.ranks();
    if (batch % ranks == 0) return;
    const int64_t below = batch / ranks * ranks;
    const std::string nearest = below > 0 ? fmt::format("{} or {}", below, below + ranks) : fmt::format("{}", ranks);
    throw InvalidArgument(
        fmt::format("[plan] the global batch does not divide, got batch {} on {} ranks, expected a "
                    "multiple of {}: {}",
                    batch, ranks, ranks, nearest));
  }

  void from_operands(size_t n) {
    const Node& node = graph_.nodes[n];
    std::vector<Dims> inputs;
    for (ValueId input : node.inputs) inputs.push_back(dims_[input]);
    decide(n, suggest_cut(rules_[n], inputs, {}, mesh_, expandable_[n]));
  }

  // A node that nothing cut so far (a constant, the broadcast of a scalar) follows its users.
  void from_users(size_t n) {
    const Node& node = graph_.nodes[n];
    if (is_cut(plan_.cuts[n])) {
      want_operands(n);
      return;
    }
    std::vector<Dims> outputs;
    for (ValueId output : node.outputs) {
      const auto wanted = wanted_.find(output);
      outputs.push_back(wanted != wanted_.end() ? wanted->second : Dims(graph_.type(output).shape.size()));
    }
    decide(n, suggest_cut(rules_[n], {}, outputs, mesh_, /*expandable=*/false));
    want_operands(n);
  }

  void want_operands(size_t n) {
    const Node& node = graph_.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Dims dims = lift(rules_[n], plan_.cuts[n], rules_[n].inputs[i]);
      if (is_cut(dims) && !is_cut(dims_[node.inputs[i]])) wanted_.emplace(node.inputs[i], dims);
    }
  }

  void decide(size_t n, Cut cut) {
    const Node& node = graph_.nodes[n];
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      dims_[node.outputs[k]] = output_sharding(rules_[n], cut, static_cast<int>(k)).dims;
    }
    plan_.cuts[n] = std::move(cut);
  }

  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<ShardingRule> rules_;
  std::vector<bool> expandable_;
  std::vector<Dims> dims_;          // per value, as made
  std::map<ValueId, Dims> wanted_;  // what the first user asks of an uncut value
  Plan plan_;
};

}  // namespace

Plan data_parallel_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh) {
  return DataParallel(graph, ops, mesh).make();
}

}  // namespace partita
