// Law 9: a fault planted in any facet of an op makes a law fail.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "checks.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"
#include "ir/ops/support.h"

namespace partita::laws {
namespace {

/// The op with its rule changed after it is made.
OpDef with_rule(OpDef op, std::function<void(ShardingRule&)> change) {
  op.rule = [rule = op.rule, change = std::move(change)](const OpCall& call) {
    ShardingRule changed = rule(call);
    change(changed);
    return changed;
  };
  return op;
}

bool caught_by_cuts(const OpDef& op) {
  for (const Sample& sample : op.samples) {
    const Case finite(op, sample);
    if (!check_cuts(finite).empty()) return true;
    if (op.name != "all_finite" || finite.inputs[0].type().elements() == 0) continue;
    // On finite numbers every rank computes 1, so that a wrong reduction would give the right result.
    std::vector<Array> inputs = finite.inputs;
    inputs[0].set(0, INFINITY);
    if (!check_cuts(Case(op, finite.attrs, std::move(inputs))).empty()) return true;
  }
  return false;
}

/// Names of the factors that are cut and reduced in some sample.
std::set<char> reduced_factors(const OpDef& op) {
  std::set<char> names;
  for (const Sample& sample : op.samples) {
    const Case node(op, sample);
    const ShardingRule rule = op.rule(node.call());
    for (const Mesh& mesh : meshes()) {
      for_cuts(rule, mesh, [&](const Cut& cut) {
        if (!illegal(rule, cut, mesh).empty() || needs_expansion(rule, cut)) return;
        for (size_t f = 0; f < cut.size(); ++f) {
          if (!cut[f].empty() && rule.factors[f].reduce != Reduce::none) names.insert(rule.factors[f].name);
        }
      });
    }
  }
  return names;
}

TEST(Mutations, AWrongReductionIsCaught) {
  for (const OpDef& op : all_ops().all()) {
    for (char name : reduced_factors(op)) {
      const OpDef wrong = with_rule(op, [name](ShardingRule& rule) {
        for (Factor& factor : rule.factors) {
          if (factor.name != name || factor.reduce == Reduce::none) continue;
          factor.reduce = factor.reduce == Reduce::max ? Reduce::min : Reduce::max;
        }
      });
      EXPECT_TRUE(caught_by_cuts(wrong)) << op.name << " factor " << name;
    }
  }
}

TEST(Mutations, AMissingLocalizeIsCaught) {
  for (const OpDef& op : all_ops().all()) {
    if (!op.localize) continue;
    OpDef wrong = op;
    wrong.localize = nullptr;
    EXPECT_TRUE(caught_by_cuts(wrong)) << op.name;
  }
}

TEST(Mutations, ABeginThatStaysZeroIsCaught) {
  for (const char* name :
       {"embedding", "scatter_rows", "one_hot", "pick", "first_equal", "cross_entropy_grad", "dropout", "random",
        "rotary", "attention", "attention_grad", "attention_max", "attention_sums", "relative_buckets"}) {
    OpDef wrong = all_ops().at(name);
    wrong.localize = [localize = wrong.localize](const Attrs& attrs, const Shard& shard) {
      FieldTexts begins;
      for (const auto& field : attrs.texts()) {
        if (field.first.starts_with("begin")) begins.push_back(field);
      }
      EXPECT_FALSE(begins.empty());
      return localize(attrs, shard).with(begins);
    };
    EXPECT_TRUE(caught_by_cuts(wrong)) << name;
  }
}

TEST(Mutations, AHaloOnOneSideOnlyIsCaught) {
  for (const char* name : {"conv2d", "conv2d_grad_input", "conv2d_grad_filter", "max_pool", "max_pool_grad"}) {
    for (int64_t less_before : {0, 1}) {
      const OpDef wrong = with_rule(all_ops().at(name), [less_before](ShardingRule& rule) {
        for (TensorMap& input : rule.inputs) {
          for (DimMap& dim : input) {
            if (!dim.window || dim.window->size < 2) continue;
            --dim.window->size;
            dim.window->pad -= less_before;
          }
        }
      });
      EXPECT_TRUE(caught_by_cuts(wrong)) << name << (less_before ? " before" : " after");
    }
  }
}

TEST(Mutations, SwappedLettersOfACompoundAreCaught) {
  for (const char* name : {"conv2d", "reshape", "attention", "attention_grad"}) {
    const OpDef wrong = with_rule(all_ops().at(name), [](ShardingRule& rule) {
      for (DimMap& dim : rule.inputs[0]) {
        if (dim.factors.size() > 1) std::swap(dim.factors[0], dim.factors[1]);
      }
    });
    EXPECT_TRUE(caught_by_cuts(wrong)) << name;
  }
}

TEST(Mutations, AFalselyDeclaredOperandIsCaught) {
  for (const char* name : {"relu", "exp", "maximum"}) {
    const OpDef wrong = with_rule(all_ops().at(name), [](ShardingRule& rule) {
      rule.linear.clear();
      rule.linear_in({0});
    });
    EXPECT_NE(check_linear(wrong, wrong.samples[0]), "") << name;
  }
}

/// Whether some sample declares that an operand commutes with a reduction.
bool declares(const OpDef& op, int operand, Reduce kind) {
  return std::any_of(op.samples.begin(), op.samples.end(), [&](const Sample& sample) {
    const Case node(op, sample);
    const ShardingRule rule = op.rule(node.call());
    return std::any_of(rule.linear.begin(), rule.linear.end(), [&](const Linear& group) {
      return group.kinds.has(kind) && std::count(group.operands.begin(), group.operands.end(), operand) > 0;
    });
  });
}

bool caught_claim(const OpDef& op, int operand, ReduceSet kinds) {
  const OpDef wrong = with_rule(op, [&](ShardingRule& rule) {
    rule.linear.clear();
    rule.linear_in({operand}, kinds);
  });
  return std::any_of(wrong.samples.begin(), wrong.samples.end(),
                     [&](const Sample& sample) { return !check_linear(wrong, sample).empty(); });
}

TEST(Mutations, AFalseClaimOfMaximumOrMinimumIsCaught) {
  int claims = 0;
  for (const OpDef& op : all_ops().all()) {
    if (!op.pointwise || op.samples[0].inputs.size() != 1) continue;
    for (const Reduce kind : {Reduce::max, Reduce::min}) {
      if (declares(op, 0, kind)) continue;
      ++claims;
      EXPECT_TRUE(caught_claim(op, 0, {.max = kind == Reduce::max, .min = kind == Reduce::min})) << op.name;
    }
  }
  EXPECT_GE(claims, 14);  // abs, gelu, neg, rsqrt, silu, square with both, log and sqrt with one
  EXPECT_TRUE(caught_claim(all_ops().at("mul"), 0, kMaxMin));
  EXPECT_TRUE(caught_claim(all_ops().at("sub"), 1, kMaxMin));
}

// Right for the positive numbers that its samples have, false for a partial value, which may be of any sign.
TEST(Mutations, AClaimThatHoldsForPositiveNumbersOnlyIsCaught) {
  EXPECT_TRUE(caught_claim(all_ops().at("log"), 0, kMaxMin));
  OpDef square = all_ops().at("square");
  square.samples = {{{sample_of({4, 6}, Fill::positive)}}};
  EXPECT_TRUE(caught_claim(square, 0, kMaxMin));
}

TEST(Mutations, AnUndeclaredOperandIsCaught) {
  for (const char* name : {"add", "mul", "matmul", "reshape"}) {
    const OpDef wrong = with_rule(all_ops().at(name), [](ShardingRule& rule) { rule.linear.clear(); });
    EXPECT_NE(check_nothing_undeclared(wrong), "") << name;
  }
}

TEST(Mutations, AWrongGradientIsCaught) {
  OpDef wrong = all_ops().at("relu");
  wrong.grad = [](const GradCall& call) { return call.d_outputs; };
  EXPECT_NE(check_gradient(Case(wrong, wrong.samples[0]), all_ops(), {0}), "");
  wrong.grad = [](const GradCall&) { return std::vector<Value>(1); };
  EXPECT_NE(check_gradient(Case(wrong, wrong.samples[0]), all_ops(), {0}), "");
}

TEST(Mutations, AWrongExpansionIsCaught) {
  OpDef wrong = all_ops().at("softmax");
  wrong.expand = [](const ExpandCall& call) -> std::vector<Value> { return {call.apply("exp", {call.inputs[0]})}; };
  EXPECT_NE(check_expansion(Case(wrong, wrong.samples[0]), all_ops()), "");
}

TEST(Mutations, AKernelThatDoesNotWriteIsCaught) {
  OpDef wrong = all_ops().at("relu");
  wrong.kernel = [](const Attrs&, Inputs, Outputs) {};
  EXPECT_NE(check_types(Case(wrong, wrong.samples[0])), "");
}

}  // namespace
}  // namespace partita::laws
