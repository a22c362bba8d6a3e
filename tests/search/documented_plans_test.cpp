// Plans that the documented system's searches found, pinned op by op: none costs less than what the exact search finds.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "compiler/autodiff/training_graph.h"
#include "compiler/search/data_parallel.h"
#include "compiler/search/search_cuts.h"
#include "frontend/network/build_graph.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"
#include "ir/sharding/strategy.h"
#include "support/places.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

using Plans = std::vector<nlohmann::json>;

Plans documented_plans() {
  const char* data = std::getenv("PARTITA_DATA");
  const std::string folder = data == nullptr ? std::string(kSourceDir) + "/../shared/data" : data;
  std::ifstream file(folder + "/../cases/searched_plans.jsonl");
  Plans plans;
  for (std::string line; std::getline(file, line);) plans.push_back(nlohmann::json::parse(line));
  return plans;
}

Graph documented_graph(const std::string& net, int64_t batch) {
  struct Documented {
    const char *net, *spec;
    Shape image;
    int64_t batch;
  };
  const Documented all[] = {{"mlp", "mlp:layers=2,hidden=4096", {1, 28, 28}, 512},
                            {"lenet", "lenet", {1, 32, 32}, 256},
                            {"resnet50", "resnet50:size=224,classes=1000", {3, 224, 224}, 256}};
  for (const Documented& one : all) {
    if (net != one.net) continue;
    const ZooModel model = make_model(one.spec);
    std::vector<Column> columns = model.columns();
    columns.at(0).type.shape = one.image;
    const Graph forward = build_graph(model.network(model.recipe.training.loss), all_ops(),
                                      {.batch = batch == 0 ? one.batch : batch, .columns = columns});
    return make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
  }
  return {};
}

/// The forward nodes of an op in order.
std::vector<size_t> nodes_of(const Graph& graph, const std::string& op) {
  std::vector<size_t> found;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].phase == Phase::forward && graph.nodes[n].op == op) found.push_back(n);
  }
  return found;
}

/// Products and convolutions, and what stands as often in both programs: in their order. The rest is as the search
/// finds it around these. Returns how many were pinned.
int pin(const nlohmann::json& plan, const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan& pins) {
  const std::map<std::string, std::string> names{{"MatMul", "matmul"},
                                                 {"Conv2D", "conv2d"},
                                                 {"ReLU", "relu"},
                                                 {"BatchNorm", "batch_norm"},
                                                 {"MaxPool", "max_pool"}};
  int count = 0;
  for (const auto& [theirs, ours] : names) {
    std::vector<Strategy> strategies;
    for (const auto& op : plan["ops"]) {
      if (op["op"] == theirs) strategies.push_back(parse_strategy(op["strategy"].get<std::string>()));
    }
    const std::vector<size_t> nodes = nodes_of(graph, ours);
    if (nodes.size() != strategies.size()) {
      EXPECT_TRUE(theirs != "MatMul" && theirs != "Conv2D") << theirs;
      continue;
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = graph.nodes[nodes[i]];
      Strategy strategy = strategies[i];
      // Their weights are [in, out] here.
      if (ours == "matmul") std::swap(strategy.at(1).at(0), strategy.at(1).at(1));
      if (ours == "batch_norm") strategy.resize(3);
      const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
      const CutTarget target{node.name, rules[nodes[i]], inputs, outputs, rules.expandable(nodes[i])};
      pins.cuts[nodes[i]] = cut_of({.inputs = strategy}, target, mesh).cut;
      ++count;
    }
  }
  return count;
}

/// A network that several plans are of, and what it costs under the plans of searches that are free.
struct SearchedNet {
  SearchedNet(const std::string& net, int64_t rows, bool is_cut, const Mesh& mesh)
      : graph(documented_graph(net, rows)), rules(graph, all_ops()), free(graph) {
    for (size_t i = 0; i < graph.inputs.size() && is_cut; ++i) {
      const int dim = graph.inputs[i].batch_dim;
      if (dim >= 0) free.inputs[i][dim] = batch_axes(graph.type(graph.inputs[i].value).shape[dim], mesh);
    }
  }
  /// Seconds of the cheapest plan that a search finds; each search runs once.
  double seconds_of(const CutSearch& search, const Mesh& mesh) {
    const auto [found, is_new] = seconds.try_emplace({search.kind, search.costs.flop_seconds});
    if (is_new) found->second = search_cuts(graph, rules, all_ops(), mesh, free, search).seconds;
    return found->second;
  }

  Graph graph;
  Rules rules;
  PartialPlan free;
  std::map<std::pair<Search, double>, double> seconds;
};

TEST(DocumentedPlans, NoneCostsLess) {
  const Plans plans = documented_plans();
  if (plans.empty()) GTEST_SKIP() << "no documented plans";
  const Mesh mesh({{"ranks", 8}});
  std::map<std::tuple<std::string, int64_t, bool>, std::unique_ptr<SearchedNet>> nets;
  std::map<std::string, int> priced;
  for (const nlohmann::json& plan : plans) {
    const std::string net = plan["net"];
    const bool full = plan["data"] == "full_batch";
    const int64_t rows = full ? 0 : plan["batch"].get<int64_t>() * 8;
    std::unique_ptr<SearchedNet>& one = nets[{net, rows, full}];
    if (one == nullptr) one = std::make_unique<SearchedNet>(net, rows, /*is_cut=*/!full, mesh);
    if (one->graph.nodes.empty()) continue;  // of another loss
    PartialPlan pins = one->free;
    EXPECT_GE(pin(plan, one->graph, one->rules, mesh, pins), 3) << net;
    for (const double flops : {1e-4, 1e-3, 1e-2}) {
      CutSearch search{Search::exact, PlanCosts::bytes(mesh)};
      search.costs.flop_seconds = flops;
      const double best = one->seconds_of(search, mesh);
      const double theirs = search_cuts(one->graph, one->rules, all_ops(), mesh, pins, search).seconds;
      EXPECT_LE(best, theirs * (1 + 1e-9)) << net << " " << plan["mode"];
      if (plan["mode"] != "recursive_programming") continue;
      search.kind = Search::recursive;
      const double rounds = one->seconds_of(search, mesh);
      EXPECT_LE(rounds, theirs * (1 + 1e-4)) << net << ", exact " << best;
      EXPECT_LE(rounds, 1.01 * best) << net;
      ++priced["recursive"];
    }
    ++priced[net];
  }
  EXPECT_GE(priced["recursive"], 15);
  EXPECT_GE(priced["mlp"], 8);
  EXPECT_GE(priced["lenet"], 6);
  EXPECT_GE(priced["resnet50"], 8);
}

}  // namespace
}  // namespace partita
