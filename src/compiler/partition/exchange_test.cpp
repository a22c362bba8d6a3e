#include "compiler/partition/exchange.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "compiler/partition/collectives.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

/// Returns a local graph of one collective.
LocalGraph moving(const Mesh& mesh, const Type& type, const Move& move, const std::string& op, const Sharding& from) {
  LocalGraph local{{.graph = {}, .mesh = mesh, .shardings = {from, move.result}, .cuts = {{}}}};
  local.graph.values = {{type, "x"}, {type, "y", 0}};
  local.graph.inputs = {{0}};
  local.graph.nodes = {{.op = op,
                        .attrs = Attrs(collective(mesh, move, from.kind, "test")),
                        .inputs = {0},
                        .outputs = {1},
                        .name = "y"}};
  return local;
}

/// Expects `largest_staging` to be the maximum of `staging_of` over all ranks.
void expect_enough(const LocalGraph& local, const std::string& what) {
  Staging most;
  for (int64_t place = 0; place < local.mesh.ranks(); ++place) {
    const Staging one = staging_of(local, 0, local.mesh.rank_of(local.mesh.coordinates_at(place)));
    most = {std::max(most.send, one.send), std::max(most.receive, one.receive)};
  }
  const Staging enough = largest_staging(local, 0);
  EXPECT_EQ(enough.send, most.send) << what << "\n" << print(local, all_ops());
  EXPECT_EQ(enough.receive, most.receive) << what << "\n" << print(local, all_ops());
}

// Tests every move on the paths between random shardings.
TEST(Staging, IsEnoughForEveryRankOfAReshard) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<Mesh> meshes{Mesh({{"a", 2}, {"b", 2}}), Mesh({{"a", 6}, {"b", 4}}), Mesh({{"a", 8}, {"b", 3}}),
                                 Mesh::undivided({{"a", 6}, {"b", 2}, {"c", 3}}),
                                 Mesh({{"a", 2}, {"b", 2}}, {3, 1, 0, 2})};
  std::map<std::string, int> seen;
  for (int trial = 0; trial < 3000; ++trial) {
    const Mesh& mesh = meshes[below(static_cast<int>(meshes.size()))];
    const Type type{DType::f64, {24 + below(7), 24 + below(3), 1 + below(30)}};
    const auto any = [&](bool open) {
      Sharding sharding{.dims = std::vector<Axes>(3)};
      for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
        const int place = below(open ? 5 : 4);
        if (place < 3) sharding.dims[place].push_back(static_cast<int>(axis));
        if (place == 4) sharding.partial.push_back(static_cast<int>(axis));
      }
      if (!sharding.partial.empty()) sharding.kind = Reduce::sum;
      return sharding;
    };
    const Sharding from = any(true), to = any(false);
    if (!illegal(type, from.dims, mesh).empty() || !illegal(type, to.dims, mesh).empty()) continue;
    Resharder resharder(mesh);
    Sharding now = from;
    for (const Move& move : resharder.path(type, from, to).moves) {
      const std::string op(name_of(move.kind));
      if (++seen[op] < 400) expect_enough(moving(mesh, type, move, op, now), op);
      now = move.result;
    }
  }
  for (const char* op : {"all_gather", "all_to_all", "permute", "reduce_scatter", "all_reduce"}) {
    EXPECT_GE(seen[op], 50) << op;
  }
}

TEST(Staging, IsEnoughForEveryRankOfAHaloExchange) {
  std::mt19937 random(2);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  const Mesh mesh({{"a", 4}, {"b", 6}});
  for (int trial = 0; trial < 400; ++trial) {
    const Window window{.stride = 1 + below(3),
                        .dilation = 1 + below(2),
                        .size = 1 + below(5),
                        .pad = below(3),
                        .transposed = below(2) == 0};
    const int64_t rows = 4 + below(30), columns = 7 + below(9);
    const int64_t span = (window.size - 1) * window.dilation + 1;
    const int64_t factor =
        window.transposed ? rows * window.stride : (rows + 2 * window.pad - span) / window.stride + 1;
    if (factor < 4) continue;
    const Type type{DType::f32, {2, rows, columns}};
    Sharding from{.dims = {{}, mesh.find("a"), mesh.find("b")}}, to = from;
    to.halos = {std::nullopt, Halo{window, factor}, std::nullopt};
    if (below(2) == 0) {  // few columns: every rank has all of them
      from.dims[2].clear();
      to.dims[2] = mesh.find("b");
      to.halos[2] = Halo{{.size = 3, .pad = 1}, columns};
    }
    const Move move{.axes = mesh.find("a"), .result = to};
    expect_enough(moving(mesh, type, move, std::string(name_of(Collective::halo_exchange)), from),
                  fmt::format("trial {}", trial));
  }
}

}  // namespace
}  // namespace partita
