// Compares costs between all shardings with those of paths found one by one.

#include "compiler/search/reshard_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/sharding/reshard.h"

namespace partita {
namespace {

/// Lists every sharding: each axis at any position of a dimension, partial or unused.
void list_shardings(const Mesh& mesh, const Type& type, int axis, Sharding& now, std::vector<Sharding>& found) {
  if (axis == static_cast<int>(mesh.axes().size())) {
    found.push_back(now);
    if (!now.partial.empty()) found.back().kind = Reduce::sum;
    return;
  }
  list_shardings(mesh, type, axis + 1, now, found);
  now.partial.push_back(axis);
  list_shardings(mesh, type, axis + 1, now, found);
  now.partial.pop_back();
  for (size_t d = 0; d < now.dims.size(); ++d) {
    for (size_t at = 0; at <= now.dims[d].size(); ++at) {
      now.dims[d].insert(now.dims[d].begin() + static_cast<int64_t>(at), axis);
      if (mesh.ways(now.dims[d]) <= type.shape[d]) list_shardings(mesh, type, axis + 1, now, found);
      now.dims[d].erase(now.dims[d].begin() + static_cast<int64_t>(at));
    }
  }
}

void expect_costs_of_resharder(const Mesh& mesh, const LinkCosts& links, const Type& type) {
  std::vector<Sharding> all;
  Sharding none{.dims = std::vector<Axes>(type.shape.size())};
  list_shardings(mesh, type, 0, none, all);
  const ReshardStates states(mesh, links, type.shape.size());
  Resharder resharder(mesh, links);
  int pairs = 0, cheaper = 0, dearer = 0;
  for (const Sharding& from : all) {
    for (const Sharding& to : all) {
      const uint32_t axes = states.axes_of(states.state(from)) | states.axes_of(states.state(to));
      const std::vector<double> costs = states.costs_from(states.state(from), axes, type);
      if (!std::includes(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end())) {
        EXPECT_TRUE(std::isinf(costs[static_cast<size_t>(states.state(to))]));
        continue;
      }
      const double expected = resharder.path(type, from, to).cost;
      const double cost = costs[static_cast<size_t>(states.state(to))];
      ++pairs;
      cheaper += cost < expected * (1 - 1e-9) - 1e-9;
      dearer += cost > expected * (1 + 1e-9) + 1e-9;
    }
  }
  const bool is_level = links.byte.front() != links.byte.back() || links.step.front() > 0;
  // The two do not both look for reductions over axes that neither end uses; costs may then differ on uneven links.
  EXPECT_LE(cheaper + dearer, is_level ? pairs / 20 : 0) << print(mesh) << ", " << cheaper << " and " << dearer;
  EXPECT_GE(pairs, 10);
}

TEST(ReshardStates, CostsAreThoseOfTheWaysThatRun) {
  for (const Mesh& mesh : {Mesh({{"a", 2}}), Mesh({{"a", 2}, {"b", 2}}), Mesh({{"a", 3}, {"b", 2}}),
                           Mesh::undivided({{"a", 2}, {"b", 4}}), Mesh({{"a", 2}, {"b", 2}, {"c", 2}})}) {
    expect_costs_of_resharder(mesh, LinkCosts::bytes(mesh), {DType::f32, {16, 24}});
    expect_costs_of_resharder(mesh, LinkCosts::bytes(mesh), {DType::f32, {3, 16}});
    LinkCosts levels = LinkCosts::bytes(mesh);
    for (size_t axis = 0; axis < levels.byte.size(); ++axis) {
      levels.byte[axis] = 1 + 3 * static_cast<double>(axis == 0);
      levels.step[axis] = 40;
    }
    expect_costs_of_resharder(mesh, levels, {DType::f32, {16, 24}});
  }
  const Mesh mesh({{"a", 2}, {"b", 2}});
  expect_costs_of_resharder(mesh, LinkCosts::bytes(mesh), {DType::f32, {8, 6, 5}});
}

TEST(ReshardStates, AreListedOnFewAxes) {
  const Mesh three({{"a", 8}}), ten({{"a", 1024}});
  for (size_t dims = 0; dims < 6; ++dims) EXPECT_TRUE(ReshardStates::can_list(three, dims)) << dims;
  EXPECT_FALSE(ReshardStates::can_list(ten, 2));
}

}  // namespace
}  // namespace partita
