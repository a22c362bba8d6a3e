#include "checkpoint/states.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace partita {
namespace {

/// One parameter, "fc.weight".
Graph small_graph() {
  Graph graph;
  graph.values.push_back({.type = {DType::f32, {2}}, .name = "fc.weight"});
  graph.states.push_back({.entry = 0});
  return graph;
}

std::map<std::string, Array> weights_with(const std::string& name, const Array& array) {
  return {{"fc.weight", Array({2}, std::vector<float>{1, 2})}, {name, array}};
}

TEST(States, CountersOfBatchesAreSkipped) {
  States states;
  const Array counter({}, std::vector<int64_t>{7});
  take_weights(states, small_graph(), weights_with("bn.num_batches_tracked", counter), "file");
  EXPECT_EQ(states.size(), 1u);
  EXPECT_EQ(states.at("fc.weight").at(1), 2);
}

TEST(States, OtherTensorsAreNot) {
  States states;
  const Array counter({}, std::vector<int64_t>{7}), vector({1}, std::vector<int64_t>{7});
  const Array number({}, std::vector<float>{7});
  for (const auto& weights : {weights_with("bn.steps", counter), weights_with("bn.num_batches_tracked", vector),
                              weights_with("bn.num_batches_tracked", number)}) {
    EXPECT_THROW(take_weights(states, small_graph(), weights, "file"), InvalidFile);
  }
}

TEST(States, TheFirstThatIsNotFiniteIsNamed) {
  States states;
  states.emplace("a", Array({2}, std::vector<float>{1, 2}));
  states.emplace("step", Array({}, std::vector<int64_t>{1}));
  states.emplace("b", Array({2}, std::vector<double>{1, -std::numeric_limits<double>::infinity()}));
  states.emplace("c", Array({1}, std::vector<float>{std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_NO_THROW(check_finite(states, {"a", "step"}));
  try {
    check_finite(states, {"a", "b", "c"});
    FAIL();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::non_finite);
    EXPECT_STREQ(error.what(),
                 "[train] 'b' is not finite after the last update, got -inf at element 1 of f64[2], expected a number");
  }
}

}  // namespace
}  // namespace partita
