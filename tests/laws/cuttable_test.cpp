// What must be cuttable, by hand: a rule that is right but too strict costs communication unseen.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness.h"
#include "ir/ops/registry.h"

namespace partita::laws {
namespace {

/// Letters that some sample can cut as they are, that it can cut through the expansion, and that are never
/// cut. ".": leading batch dimensions; "*": every factor of every sample, except whole ones.
struct Cuttable {
  std::string free, expand = "", whole = "";
};

/// Boundaries of the parts move: the dimension in question is whole, the others are free.
std::map<std::string, Cuttable> rows_of_moving_boundaries() {
  return {
      {"concat", {"*", "", "*"}},  {"pad", {"*", "", "*"}},
      {"slice", {"*", "", "*"}},   {"cumsum", {"*", "", "*"}},
      {"reverse", {"*", "", "*"}}, {"host_function", {"kn", "", "abcd"}},  // by its rule, and without one
      {"reshape", {"*", "", "*"}},                                         // shapes without a common refinement
  };
}

/// A step of a recurrence follows the one before, and multiplies its whole state.
std::map<std::string, Cuttable> rows_of_recurrences() {
  const Cuttable gates{"n", "h", "gkt"}, one{"n", "h", "kt"};
  return {{"lstm", gates}, {"lstm_grad", gates}, {"gru", gates}, {"gru_grad", gates}, {"rnn", one}, {"rnn_grad", one}};
}

/// Heads and queries are cut as they are, keys by an expansion, or not where the keys that are seen are data.
std::map<std::string, Cuttable> rows_of_attention() {
  return {{"attention", {"bhgq", "k", "de"}},
          {"attention_grad", {"bhgqk", "", "de"}},
          {"attention_max", {"bhgqk", "", "d"}},
          {"attention_sums", {"bhgqk", "", "de"}},
          {"attention_finish", {"bhq", "", "e"}},
          {"attention_within", {"bghq", "", "dek"}},
          {"attention_within_grad", {"bghq", "", "dek"}},
          {"rotary", {".sh", "", "d"}}};
}

/// Ops that are not here must be cuttable in every factor, as they are.
const std::map<std::string, Cuttable>& table() {
  static const std::map<std::string, Cuttable> all = [] {
    std::map<std::string, Cuttable> rows{
        {"matmul", {".ijk"}},
        {"matmul_rows", {".ij"}},
        {"orthogonalize", {"*", "", "*"}},
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
        {"label_place", {".", "", "z"}},
        {"assign_slots", {".", "", "kn"}},  // every rank counts all tokens of a group
        {"dispatch", {"vnkz."}},
        {"combine", {"vnkz."}},
        {"combine_grad_weights", {"vnkz."}},
        {"first_equal", {"z."}},
        {"argmax", {".", "z"}},
        {"write_rows", {"bd", "", "ns"}},
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
        {"moments_sum", {"gmchw"}},
        {"moments_deviations", {"gmchw"}},
        {"running_statistics", {"c", "", "g"}},  // the mean over groups, once per step on a few numbers
    };
    rows.merge(rows_of_moving_boundaries());
    rows.merge(rows_of_recurrences());
    rows.merge(rows_of_attention());
    return rows;
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

/// A line of the table for what was found. Where one letter is free in one sample and whole in another, as those of
/// dimensions are, letters say nothing: "*".
std::string line_for(const OpDef& op, const Found& found) {
  std::string free(found.free.begin(), found.free.end()), whole(found.whole.begin(), found.whole.end());
  const std::string expand(found.expand.begin(), found.expand.end());
  if (std::any_of(whole.begin(), whole.end(), [&](char letter) { return found.free.count(letter) > 0; })) {
    free = whole = "*";
  }
  return fmt::format("{{\"{}\", {{\"{}\", \"{}\", \"{}\"}}}},", op.name, free, expand, whole);
}

/// "" or how an op differs from what is expected of it, and what to do.
std::string misfit(const OpDef& op, const Cuttable& expected) {
  const Found found = find_cuttable(op);
  const bool all_free = expected.free == "*";
  const bool fits = (all_free ? found.never.empty() : found.free == letters(expected.free)) &&
                    found.expand == letters(expected.expand) &&
                    (expected.whole == "*" || found.whole == letters(expected.whole));
  if (fits) return "";
  std::string never;
  for (const std::string& factor : found.never)
    never += fmt::format("\n  factor {} is free, but no legal cut cuts it", factor);
  return fmt::format(
      "the rule of '{}' lets it be cut otherwise than table() in tests/laws/cuttable_test.cpp says (an op without a "
      "line: "
      "everywhere, as it is).{}\nIf the rule is too strict, mend it. If the op cannot be cut otherwise, put this line "
      "into "
      "table(), (cut as they are, through the expansion, never):\n        {}",
      op.name, never, line_for(op, found));
}

Cuttable expected_of(const OpDef& op) {
  const auto line = table().find(op.name);
  return line == table().end() ? Cuttable{"*"} : line->second;
}

class CuttableOps : public testing::TestWithParam<const OpDef*> {};

TEST_P(CuttableOps, AsListed) {
  const std::string wrong = misfit(*GetParam(), expected_of(*GetParam()));
  EXPECT_TRUE(wrong.empty()) << wrong;
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

TEST(CuttableTable, SaysWhichLineIsMissing) {
  const std::string top_k = misfit(all_ops().at("top_k"), Cuttable{"*"});
  EXPECT_NE(top_k.find("{\"top_k\", {\".\", \"\", \"kz\"}},"), std::string::npos) << top_k;
  const std::string softmax = misfit(all_ops().at("softmax"), Cuttable{"*"});
  EXPECT_NE(softmax.find("{\"softmax\", {\".\", \"z\", \"\"}},"), std::string::npos) << softmax;
  const std::string slice = misfit(all_ops().at("slice"), Cuttable{"*"});
  EXPECT_NE(slice.find("{\"slice\", {\"*\", \"\", \"*\"}},"), std::string::npos) << slice;
  EXPECT_EQ(misfit(all_ops().at("relu"), Cuttable{"*"}), "");
}

}  // namespace
}  // namespace partita::laws
