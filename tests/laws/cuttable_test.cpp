// What must be cuttable, by hand: a rule that is right but too strict costs communication unseen.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness.h"
#include "ops/registry.h"

namespace partita::laws {
namespace {

/// Letters that some sample can cut as they are, that it can cut through the expansion, and that are never
/// cut. ".": leading batch dimensions; "*": every factor of every sample, except whole ones.
struct Cuttable {
  std::string free, expand = "", whole = "";
};

/// Ops with one factor per dimension, all of them free.
const std::set<std::string> kPointwise{
    "abs",    "adam",     "add",     "bias_add", "broadcast_to",   "cast",      "constant",
    "div",    "dropout",  "equal",   "exp",      "gelu",           "gelu_grad", "greater",
    "iota",   "log",      "maximum", "minimum",  "moments_finish", "momentum",  "mul",
    "neg",    "random",   "reduce",  "relu",     "relu_grad",      "rsqrt",     "scale",
    "select", "sgd",      "sigmoid", "sign",     "sqrt",           "square",    "sub",
    "tanh",   "transpose"};

const std::map<std::string, Cuttable>& table() {
  static const std::map<std::string, Cuttable> all = [] {
    std::map<std::string, Cuttable> others{
        // Boundaries of the parts move: the dimension in question is whole, the others are free.
        {"concat", {"*", "", "*"}},
        {"pad", {"*", "", "*"}},
        {"slice", {"*", "", "*"}},
        {"cumsum", {"*", "", "*"}},
        {"reshape", {"*", "", "*"}},  // shapes without a common refinement
        {"matmul", {".ijk"}},
        {"conv2d", {"ngochw", "", "pq"}},
        {"conv2d_grad_filter", {"ngochw", "", "pq"}},
        {"conv2d_grad_input", {"ngochw", "", "pq"}},
        {"avg_pool", {"nchw"}},
        {"avg_pool_grad", {"nchw"}},
        {"max_pool", {"nchw"}},
        {"max_pool_grad", {"nchw"}},
        {"embedding", {"vz."}},
        {"scatter_rows", {"vz."}},
        {"one_hot", {"z."}},
        {"pick", {"z."}},
        {"take_along", {"kz."}},
        {"put_along", {"kz."}},
        {"scatter_add", {"vz", "."}},
        {"top_k", {".", "", "kz"}},
        {"rotary", {".s", "", "d"}},
        {"first_equal", {"z."}},
        {"argmax", {".", "z"}},
        {"attention", {"bhq", "", "kde"}},
        {"attention_grad", {"bhq", "", "kde"}},
        {"layer_norm", {".", "z"}},
        {"layer_norm_grad", {".", "z"}},
        {"rms_norm", {".", "z"}},
        {"rms_norm_grad", {".", "z"}},
        {"softmax", {".", "z"}},
        {"softmax_grad", {".", "z"}},
        {"log_softmax", {".", "z"}},
        {"log_softmax_grad", {".", "z"}},
        {"cross_entropy", {".", "z"}},
        {"cross_entropy_grad", {".z"}},
        {"batch_norm", {"gc", "mhw"}},
        {"batch_norm_grad", {"gc", "mhw"}},
        {"batch_norm_apply", {"gmchw"}},
        {"batch_norm_grad_apply", {"gmchw"}},
        {"batch_norm_grad_sums", {"gmchw"}},
        {"batch_norm_inference", {"nchw"}},
        {"moments", {"gmchw"}},
        {"running_statistics", {"c", "", "g"}},  // the mean over groups, once per step on a few numbers
    };
    for (const std::string& op : kPointwise) others.emplace(op, Cuttable{"*"});
    return others;
  }();
  return all;
}

struct Found {
  std::set<char> free, expand, whole;
  std::set<std::string> never;  // free factors that no legal cut of their sample cuts
};

Found find_cuttable(const OpDef& op) {
  Found found;
  for (const Sample& sample : op.samples) {
    const Case node(op, sample);
    const ShardingRule rule = op.rule(node.call());
    std::vector<bool> cuttable(rule.factors.size(), false);
    for (const Mesh& mesh : meshes()) {
      for_cuts(rule, mesh, [&](const Cut& cut) {
        if (!illegal(rule, cut, mesh).empty()) return;
        for (size_t f = 0; f < cut.size(); ++f) cuttable[f] = cuttable[f] || !cut[f].empty();
      });
    }
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const Factor& factor = rule.factors[f];
      if (factor.size < 2) continue;
      if (factor.cutting == Cutting::whole) found.whole.insert(factor.name);
      const char name = factor.name >= 'A' && factor.name <= 'Z' ? '.' : factor.name;
      if (cuttable[f]) (factor.cutting == Cutting::expand ? found.expand : found.free).insert(name);
      if (!cuttable[f] && factor.cutting == Cutting::free) {
        found.never.insert(fmt::format("{} of {}", factor.name, partita::print(rule)));
      }
    }
  }
  return found;
}

std::set<char> letters(const std::string& text) { return {text.begin(), text.end()}; }

class CuttableOps : public testing::TestWithParam<const OpDef*> {};

TEST_P(CuttableOps, AsListed) {
  const OpDef& op = *GetParam();
  const auto line = table().find(op.name);
  // An op that is not in the table must be cuttable everywhere; anything less needs a line that says so.
  const Cuttable expected = line == table().end() ? Cuttable{"*"} : line->second;
  const Found found = find_cuttable(op);
  if (expected.free == "*") {
    EXPECT_EQ(found.never, std::set<std::string>{});
  } else {
    EXPECT_EQ(found.free, letters(expected.free));
  }
  EXPECT_EQ(found.expand, letters(expected.expand));
  if (expected.whole != "*") {
    EXPECT_EQ(found.whole, letters(expected.whole));
  }
}

TEST_P(CuttableOps, IsDescribedAndSampled) {
  const OpDef& op = *GetParam();
  EXPECT_FALSE(op.summary.empty());
  EXPECT_EQ(op.summary.find('\n'), std::string::npos);
  EXPECT_FALSE(op.samples.empty());
  EXPECT_GE(op.flops_per_point, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, CuttableOps, testing::ValuesIn(every_op()),
                         [](const auto& info) { return info.param->name; });

TEST(CuttableTable, ListsOnlyOpsThatAreThere) {
  for (const auto& [name, row] : table()) EXPECT_NE(all_ops().find(name), nullptr) << name;
}

}  // namespace
}  // namespace partita::laws
