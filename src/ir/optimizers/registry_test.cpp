// Tests every optimizer of the registry for what its definition promises.

#include "ir/optimizers/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/autodiff/optimizer.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

class Optimizers : public testing::TestWithParam<std::string> {
 protected:
  const OptimizerDef& optimizer() const { return find_optimizer("test", GetParam()); }

  /// Returns a graph that updates a parameter of this shape.
  Graph updating(const Shape& shape, OptimizerOptions options = {}) const {
    options.kind = OptimizerKind(std::string_view(optimizer().name));
    Builder builder(all_ops());
    const Value w = builder.state("w", {DType::f32, shape}, {}), g = builder.input("g", {DType::f32, shape});
    const Value rate = builder.input("rate", {DType::f32, {}});
    builder.phase = Phase::update;
    build_update(builder, options, w, g, rate);
    return builder.take();
  }
};

TEST_P(Optimizers, KeepTheStatesThatTheyList) {
  OptimizerOptions options;
  for (const OptimizerState& state : optimizer().states) {
    if (!state.only_with.empty()) options.give(state.only_with, optimizer().find(state.only_with)->is_switch ? 1 : 0.5);
  }
  std::set<std::string> listed, always, found;
  for (const OptimizerState& state : optimizer().states) {
    listed.insert("w." + state.name);
    if (!state.of_some) always.insert("w." + state.name);
  }
  bool counts = false;
  for (const Shape& shape : {Shape{4, 6}, Shape{3, 4, 5}, Shape{2, 3, 3, 3}, Shape{5}, Shape{}}) {
    const Graph graph = updating(shape, options);
    std::set<std::string> own;
    for (const State& state : graph.states) {
      const std::string& name = graph.values[state.entry].name;
      EXPECT_TRUE(state.exit >= 0 || state.kind == StateKind::counter) << name << " is not written";
      counts |= state.kind == StateKind::counter;
      if (state.kind == StateKind::optimizer) own.insert(name);
    }
    EXPECT_TRUE(std::includes(listed.begin(), listed.end(), own.begin(), own.end())) << print(shape);
    EXPECT_TRUE(std::includes(own.begin(), own.end(), always.begin(), always.end())) << print(shape);
    found.insert(own.begin(), own.end());
  }
  EXPECT_EQ(found, listed);
  EXPECT_EQ(counts, optimizer().counts_steps);
}

TEST_P(Optimizers, HaveOptionsWithinTheirRanges) {
  for (const OptimizerOption& option : optimizer().options) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(option.least <= option.standard && option.standard <= option.most) << option.name;
    if (option.is_switch) {
      EXPECT_TRUE(option.standard == 0 || option.standard == 1) << option.name;
    }
  }
  for (const OptimizerState& state : optimizer().states) {
    EXPECT_TRUE(state.only_with.empty() || optimizer().find(state.only_with) != nullptr) << state.name;
  }
}

TEST_P(Optimizers, HaveAClassInPythonWhoseParametersAreOptions) {
  const std::set<std::string> of_all{"learning_rate", "weight_decay", "loss_scale"};
  for (const PythonParameter& parameter : optimizer().python.parameters) {
    if (of_all.contains(parameter.name) || parameter.use != PythonParameter::number) continue;
    const std::string& option = parameter.option.empty() ? parameter.name : parameter.option;
    EXPECT_NE(optimizer().find(option), nullptr) << parameter.name;
  }
  for (const auto& [option, value] : optimizer().python.fixed) EXPECT_NE(optimizer().find(option), nullptr) << option;
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::ValuesIn(optimizer_names()),
                         [](const auto& info) { return info.param; });

TEST(OptimizerRegistry, NamesTheNearestOfAnUnknownName) {
  try {
    find_optimizer("--optimizer", "adan");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'adam'?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace partita
