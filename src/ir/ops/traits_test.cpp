#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/ops/support.h"
#include "ir/ops/test_kernels.h"

namespace partita {
namespace {

/// Returns the names of the ops for which `has` holds, in alphabetical order.
std::string names_of(const std::function<bool(const OpTraits&)>& has) {
  std::set<std::string> names;
  for (const OpDef& op : all_ops().all()) {
    if (has(op.traits)) names.insert(op.name);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

TEST(OpTraits, BelongToTheseOps) {
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.is_sum; }), "add");
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.moves_elements; }),
            "broadcast_to cast concat reshape reverse transpose");
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.is_selected_for_recompute; }),
            "attention attention_within");
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.degree != nullptr; }),
            "add broadcast_to cast div equal maximum mul neg reduce reshape scale select shared_maximum sub");
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.share_of_mean != nullptr; }), "reduce");
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.table_rows != nullptr; }), "embedding");
  EXPECT_EQ(names_of([](const OpTraits& traits) { return traits.batch_statistics != nullptr; }),
            "batch_norm batch_norm_grad");
}

TEST(OpTraits, DegreesOfArithmetic) {
  const auto degree = [](const std::string& op, const std::vector<int>& degrees) {
    return all_ops().at(op).traits.degree(all_ops().at(op).attrs, degrees);
  };
  EXPECT_EQ(degree("add", {1, 1}), 1);
  EXPECT_EQ(degree("sub", {1, 0}), std::nullopt);
  EXPECT_EQ(degree("mul", {1, 1}), 2);
  EXPECT_EQ(degree("div", {1, 1}), 0);
  EXPECT_EQ(degree("div", {0, 1}), -1);
  EXPECT_EQ(degree("maximum", {1, 0}), 1);
  EXPECT_EQ(degree("select", {0, 0, 1}), 1);
  EXPECT_EQ(degree("equal", {1, 0}), 0);
  EXPECT_EQ(degree("reshape", {1}), 1);
}

/// Returns the reference kernel's results on a sample whose operands count up from 1 in steps of `step`.
std::vector<Array> results_of(const OpDef& op, const Sample& sample, double step) {
  std::vector<Array> operands;
  double next = 1;
  for (const SampleInput& input : sample.inputs) {
    Array& operand = operands.emplace_back(input.type);
    for (int64_t i = 0; i < input.type.elements(); ++i, next += 1) operand.set(i, next * step);
  }
  return run_kernel(op, sample.attrs, operands);
}

TEST(OpTraits, MovedElementsAreThoseOfTheOperands) {
  for (const OpDef& op : all_ops().all()) {
    if (!op.traits.moves_elements) continue;
    for (const Sample& sample : op.samples) {
      std::set<double> given, moved;
      double next = 1;
      for (const SampleInput& input : sample.inputs) {
        for (int64_t i = 0; i < input.type.elements(); ++i, next += 1) given.insert(next);
      }
      const std::vector<Array> results = results_of(op, sample, 1);
      for (const Array& result : results) {
        for (int64_t i = 0; i < result.type().elements(); ++i) moved.insert(result.at(i));
      }
      EXPECT_EQ(moved, given) << op.name << " " << sample.attrs.print();
    }
  }
}

// An op of degree 1 in a factor of all its operands grows as the factor does.
TEST(OpTraits, DegreesAreThoseOfTheKernels) {
  for (const OpDef& op : all_ops().all()) {
    for (const Sample& sample : op.samples) {
      const bool is_choice = !sample.inputs.empty() && sample.inputs[0].type.dtype == DType::boolean;
      if (!op.traits.degree || is_choice) continue;
      const std::vector<int> ones(sample.inputs.size(), 1);
      const std::optional<int> degree = op.traits.degree(sample.attrs, ones);
      if (!degree) continue;
      const Array once = results_of(op, sample, 1)[0], twice = results_of(op, sample, 2)[0];
      for (int64_t i = 0; i < once.type().elements(); ++i) {
        EXPECT_DOUBLE_EQ(twice.at(i), once.at(i) * std::pow(2.0, *degree)) << op.name << " " << sample.attrs.print();
      }
    }
  }
}

TEST(OpTraits, AShareOfAMeanIsThatOfItsPart) {
  const OpDef& op = all_ops().at("reduce");
  const std::vector<Type> inputs{{DType::f64, {4, 3, 5}}}, outputs{{DType::f64, {4, 5}}};
  const auto share = [&](double scale, int64_t parts) {
    const Attrs attrs = op.attrs.parse(fmt::format("{{kind=sum, axes=[1], scale={}}}", scale));
    return op.traits.share_of_mean({attrs, inputs, outputs}, parts);
  };
  EXPECT_EQ(share(0.5, 2), std::nullopt);
  const std::optional<Attrs> half = share(1.0 / 3, 2);
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->print(), op.attrs.parse(fmt::format("{{kind=sum, axes=[1], scale={}}}", 1.0 / 6)).print());
}

}  // namespace
}  // namespace partita
