#include "frontend/network/layers/mixture_of_experts.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "frontend/network/test_columns.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

TEST(MixtureOfExperts, CapacityIsOfAnEvenShare) {
  EXPECT_EQ(expert_capacity({.experts = 8, .top_k = 2, .capacity = 1.25}, 128), 40);
  EXPECT_EQ(expert_capacity({.experts = 8, .top_k = 2, .capacity = 1}, 6), 2);      // 1.5 rounded up
  EXPECT_EQ(expert_capacity({.experts = 64, .top_k = 1, .capacity = 0.5}, 8), 1);   // at least one
  EXPECT_EQ(expert_capacity({.experts = 8, .top_k = 2, .capacity = 0}, 128), 128);  // a slot for every token
  EXPECT_EQ(expert_capacity({.experts = 2, .top_k = 2, .capacity = 100}, 128), 128);
}

/// Returns the result of a layer on random numbers.
Interpretation run_experts(const MixtureOfExpertsOptions& options, const Shape& shape) {
  const LayerPtr layer = mixture_of_experts(options);
  Builder builder(all_ops());
  Context context(builder, {.dtype = DType::f64});
  builder.output("y", context.call_network(*layer, builder.input("x", {DType::f64, shape})));
  for (const AddedLoss& added : context.added_losses()) builder.output(added.name, added.sum);
  std::map<std::string, Array> given;
  Array x(Type{DType::f64, shape});
  for (int64_t i = 0; i < elements(shape); ++i) x.set(i, random_normal(random_key(1, "x"), i, 0));
  given.emplace("x", std::move(x));
  for (const State& state : builder.graph().states) {
    const std::string& name = builder.graph().values[state.entry].name;
    given.emplace(name, make_initial(state.init, builder.graph().type(state.entry), random_key(1, name)));
  }
  return interpret_all(builder.graph(), all_ops(), given);
}

TEST(MixtureOfExperts, BalanceIsOneWhenAllAreUsedAlike) {
  // Every token chooses every expert.
  EXPECT_NEAR(run_experts({.experts = 4, .top_k = 4}, {3, 8, 6}).outputs.at("balance").at(0), 1, 1e-12);
  // All choose the first of equal probabilities, whose mean probability is 1/4.
  const MixtureOfExpertsOptions even{.experts = 4, .top_k = 1, .init = Init::zeros};
  EXPECT_NEAR(run_experts(even, {3, 8, 6}).outputs.at("balance").at(0), 1, 1e-12);
  EXPECT_GT(run_experts({.experts = 4, .top_k = 1}, {3, 8, 6}).outputs.at("balance").at(0), 1);
}

TEST(MixtureOfExperts, BalanceMayBeLeftOut) {
  EXPECT_TRUE(run_experts({}, {2, 4, 6}).outputs.contains("balance"));
  EXPECT_FALSE(run_experts({.balance = 0}, {2, 4, 6}).outputs.contains("balance"));
}

// Tokens that get no slot get zeros: with one slot for eight tokens and equal experts, all but one.
TEST(MixtureOfExperts, ATokenWithoutASlotGetsNothing) {
  const Array y = run_experts({.experts = 1, .top_k = 1, .capacity = 0.125}, {2, 8, 4}).outputs.at("y");
  for (int64_t i = 0; i < y.type().elements(); ++i) EXPECT_EQ(y.at(i) == 0, i % 32 >= 4) << i;
}

// One expert with room for all tokens, and a shared one, equal dense layers.
TEST(MixtureOfExperts, OneExpertIsADenseLayer) {
  const Interpretation one = run_experts({.experts = 1, .top_k = 1, .capacity = 0, .shared = 1}, {2, 3, 4});
  Builder builder(all_ops());
  const auto given = [&](const std::string& name, const Shape& shape) {
    return builder.input(name, {DType::f64, shape});
  };
  const Value x = given("x", {2, 3, 4}), fc = given("fc", {4, 16}), proj = given("proj", {16, 4});
  const Value shared_fc = given("shared_fc", {16, 4}), shared_proj = given("shared_proj", {4, 16});
  builder.output("y", matmul(gelu(matmul(x, fc)), proj) +
                          matmul(gelu(matmul(x, shared_fc, false, true)), shared_proj, false, true));
  Array input(Type{DType::f64, {2, 3, 4}});
  for (int64_t i = 0; i < 24; ++i) input.set(i, random_normal(random_key(1, "x"), i, 0));
  const auto state = [&](const std::string& name) {
    Array array = one.states.at(name);
    return Array(array.shape().size() == 3 ? Shape{array.shape()[1], array.shape()[2]} : array.shape(), [&] {
      std::vector<double> values;
      for (int64_t i = 0; i < array.type().elements(); ++i) values.push_back(array.at(i));
      return values;
    }());
  };
  const Array expected = interpret_all(builder.graph(), all_ops(),
                                       {{"x", input},
                                        {"fc", state("experts.fc")},
                                        {"proj", state("experts.proj")},
                                        {"shared_fc", state("shared.fc.weight")},
                                        {"shared_proj", state("shared.proj.weight")}})
                             .outputs.at("y");
  for (int64_t i = 0; i < 24; ++i) EXPECT_NEAR(one.outputs.at("y").at(i), expected.at(i), 1e-12);
}

std::string refusal_of_experts(const MixtureOfExpertsOptions& options, const Shape& shape = {2, 4, 6}) {
  try {
    run_experts(options, shape);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MixtureOfExperts, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(refusal_of_experts({.experts = 0}), "[experts] no experts, got 0, expected at least 1");
  EXPECT_EQ(refusal_of_experts({.experts = 4, .top_k = 5}),
            "[experts] a token cannot go to that many experts, got 5 of 4, expected 1 to 4");
  EXPECT_EQ(refusal_of_experts({.experts = 1, .top_k = 0}),
            "[experts] a token cannot go to that many experts, got 0 of 1, expected 1");
  EXPECT_EQ(refusal_of_experts({.capacity = -1}),
            "[experts] bad capacity, got -1, expected a factor above 0, or 0 for room for every token");
  EXPECT_EQ(refusal_of_experts({.balance = -0.5}),
            "[experts] bad weight of the balance loss, got -0.5, expected at least 0");
  EXPECT_EQ(refusal_of_experts({.inner = -1}),
            "[experts] bad inner width, got -1, expected at least 1, or 0 for four times the width");
  EXPECT_EQ(refusal_of_experts({.shared = -1}), "[experts] bad number of shared experts, got -1, expected at least 0");
  EXPECT_NE(
      refusal_of_experts({}, {4, 6}).find("[experts] wrong operand, got f64[4,6], expected [batch, tokens, width]"),
      std::string::npos);
}

/// Adds the mean of its squared operand to the loss.
class Adds : public Layer {
 public:
  explicit Adds(std::string name, bool scalar = true) : name_(std::move(name)), scalar_(scalar) {}
  Value construct(Context& context, Value x) override {
    context.add_loss(name_, scalar_ ? reduce_mean(square(x)) : square(x), 0.5);
    return x;
  }

 private:
  std::string name_;
  bool scalar_;
};

Graph graph_that_adds(const std::vector<LayerPtr>& layers, Purpose purpose = Purpose::training) {
  return build_graph(Network("adds", sequential(layers)), all_ops(),
                     {.batch = 4,
                      .columns = labelled_columns({"x", {DType::f64, {3}}}, {DType::i32, {}}),
                      .dtype = DType::f64,
                      .purpose = purpose});
}

std::string refusal_to_add(const LayerPtr& layer) {
  try {
    graph_that_adds({layer});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(AddedLosses, AreMinimisedAndShownAsTheirSum) {
  const auto losses = [](const Graph& graph) {
    Array x({4, 3}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    return interpret_all(graph, all_ops(), {{"x", x}, {"label", Array({4}, std::vector<int32_t>{0, 1, 2, 0})}}).outputs;
  };
  const LayerPtr nothing = lambda([](Context&, Value x) { return x; });
  const double own = losses(graph_that_adds({nothing})).at("loss").at(0), mean = 650.0 / 12;
  const auto twice = losses(graph_that_adds({share(Adds("size")), share(Adds("other")), share(Adds("size"))}));
  EXPECT_NEAR(twice.at("loss").at(0), own + 1.5 * mean, 1e-9);
  EXPECT_NEAR(twice.at("size").at(0), 2 * mean, 1e-9);
  EXPECT_NEAR(twice.at("other").at(0), mean, 1e-9);
  const auto evaluated = losses(graph_that_adds({share(Adds("size"))}, Purpose::evaluation));
  EXPECT_NEAR(evaluated.at("loss").at(0), own, 1e-12);
  EXPECT_NEAR(evaluated.at("size").at(0), mean, 1e-12);
}

TEST(AddedLosses, AreScalarsWithNamesOfTheirOwn) {
  EXPECT_EQ(refusal_to_add(share(Adds("loss"))),
            "[loss] two losses have the same name, got 'loss' of a layer and of the network, expected another name");
  EXPECT_NE(refusal_to_add(share(Adds("size", /*scalar=*/false)))
                .find("[loss] 'size' is not a mean over the batch, got f64[4,3], expected a scalar float"),
            std::string::npos);
}

}  // namespace
}  // namespace partita
