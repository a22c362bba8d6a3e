#include "runtime/checkpoint/states.h"

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

TEST(States, ACommonPrefixIsNamed) {
  const auto refusal = [](const std::map<std::string, Array>& weights) {
    try {
      States states;
      take_weights(states, small_graph(), weights, "file");
    } catch (const InvalidFile& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const Array array({2}, std::vector<float>{1, 2});
  for (const std::string prefix : {"module.", "model.net.", "_orig_mod."}) {
    EXPECT_EQ(
        refusal({{prefix + "fc.weight", array}}),
        fmt::format("[load] file: names of tensors begin with '{0}', got '{0}fc.weight', expected 'fc.weight': save "
                    "them without it, as {{name.removeprefix('{0}'): tensor}}",
                    prefix));
  }
  EXPECT_EQ(refusal({{"module.fc.bias", array}}),
            "[load] file: no tensor for 'fc.weight', got 1 others, expected f32[2]");
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
