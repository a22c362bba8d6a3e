// Every law on every sample of every op of the registry.

#include <gtest/gtest.h>

#include "checks.h"
#include "ir/ops/registry.h"

namespace partita::laws {
namespace {

struct Named {
  const OpDef* op;
  size_t sample;
};

void PrintTo(const Named& named, std::ostream* out) { *out << named.op->name << " sample " << named.sample; }

template <class Wanted>
std::vector<Named> samples_where(Wanted&& wanted) {
  std::vector<Named> all;
  for (const OpDef& op : all_ops().all()) {
    for (size_t i = 0; i < op.samples.size() && wanted(op); ++i) all.push_back({&op, i});
  }
  return all;
}

std::string name_of_sample(const testing::TestParamInfo<Named>& info) {
  return fmt::format("{}_{}", info.param.op->name, info.param.sample);
}

class SampleLaws : public testing::TestWithParam<Named> {
 protected:
  const OpDef& op() const { return *GetParam().op; }
  const Sample& sample() const { return op().samples[GetParam().sample]; }
};

TEST_P(SampleLaws, TypesAndEmptyOperands) { EXPECT_EQ(check_types(Case(op(), sample())), ""); }

TEST_P(SampleLaws, AttributesReadBack) {
  EXPECT_EQ(check_attributes(op().attrs), "");
  EXPECT_EQ(check_attributes(sample().attrs), "");
}

TEST_P(SampleLaws, EveryCutIsTheWhole) { EXPECT_EQ(check_cuts(Case(op(), sample())), ""); }

TEST_P(SampleLaws, DeclaredOperandsCommuteWithReductions) { EXPECT_EQ(check_linear(op(), sample()), ""); }

class ExpansionLaws : public SampleLaws {};

TEST_P(ExpansionLaws, TheExpansionIsTheKernel) { EXPECT_EQ(check_expansion(Case(op(), sample()), all_ops()), ""); }

/// Operands that an op treats as constants, whatever the derivative.
std::vector<size_t> constants_of(const OpDef& op) {
  if (op.name == "batch_norm_inference") return {3, 4};  // the running statistics
  return {};
}

class GradientLaws : public SampleLaws {};

TEST_P(GradientLaws, GradientsAreDifferences) {
  const Case node(op(), sample());
  const std::vector<size_t> outputs = float_outputs(node);
  if (outputs.empty()) return;  // a cast to integers
  EXPECT_EQ(check_gradient(node, all_ops(), {outputs[0]}, constants_of(op())), "");
  if (outputs.size() == 1) return;
  EXPECT_EQ(check_gradient(node, all_ops(), outputs, constants_of(op())), "") << "gradients at all outputs";
}

INSTANTIATE_TEST_SUITE_P(Ops, SampleLaws, testing::ValuesIn(samples_where([](const OpDef&) { return true; })),
                         name_of_sample);
INSTANTIATE_TEST_SUITE_P(Ops, ExpansionLaws,
                         testing::ValuesIn(samples_where([](const OpDef& op) { return op.expand != nullptr; })),
                         name_of_sample);
INSTANTIATE_TEST_SUITE_P(Ops, GradientLaws,
                         testing::ValuesIn(samples_where([](const OpDef& op) { return op.grad != nullptr; })),
                         name_of_sample);

class OpLaws : public testing::TestWithParam<const OpDef*> {};

TEST_P(OpLaws, WholeFactorsFailWhenCut) {
  std::map<std::pair<char, Cutting>, bool> failed;
  for (const Sample& sample : GetParam()->samples) {
    const Case node(*GetParam(), sample);
    const ShardingRule rule = node.op.rule(node.call());
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const Factor& factor = rule.factors[f];
      if (factor.cutting == Cutting::free) continue;
      const std::optional<bool> fails = fails_when_cut(node, static_cast<int>(f));
      if (fails) failed[{factor.name, factor.cutting}] |= *fails;
    }
  }
  for (const auto& [factor, fails] : failed) {
    EXPECT_TRUE(fails) << "factor " << factor.first << " can be cut in every sample";
  }
}

TEST_P(OpLaws, NoUndeclaredOperandCommutesWithSums) {
  if (GetParam()->update) return;  // some are linear in weight and gradient together, but no weight is partial
  EXPECT_EQ(check_nothing_undeclared(*GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(Ops, OpLaws, testing::ValuesIn(every_op()), [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace partita::laws
