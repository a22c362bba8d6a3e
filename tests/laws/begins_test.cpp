// Ranks whose shards differ in where they begin share a program, which takes that as data (OpTraits::take_place).

#include <gtest/gtest.h>

#include "compiler/emit/emit_node.h"
#include "ir/graph/emit_call.h"
#include "ir/ops/registry.h"
#include "laws/emitted.h"
#include "laws/special_numbers.h"
#include "support/matches.h"

namespace partita::laws {
namespace {

/// Returns the attributes with 0 for where the shard begins, and with its sizes: those of the largest of several
/// shards.
Attrs from_0(const Attrs& attrs) {
  FieldTexts changed;
  for (const auto& [name, text] : attrs.texts()) {
    if (name == "begin") changed.emplace_back(name, replace_matches(text, "-?[0-9]+", "0"));
  }
  return attrs.with(changed);
}

/// Returns the module of a node that takes where its shard begins as data.
std::string module_with_data(const Case& node, const std::vector<int64_t>& begins) {
  const Attrs attrs = from_0(node.attrs);
  return module_of(node.op.name, node.input_types, [&](HloBody& body, const std::vector<Hlo>& operands) {
    std::vector<Hlo> data;
    for (const int64_t begin : begins) data.push_back(call_in(body).splat_integer(begin, {DType::i64, {}}));
    return emit_node(all_ops(), node.op, {body, attrs, operands, node.output_types, &data});
  });
}

TEST(Begins, AsDataGiveTheSameResults) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  int begun = 0;
  for (const OpDef* op : every_op()) {
    if (!op->traits.take_place) continue;
    for (const Sample& sample : op->samples) {
      const Case node(*op, with_floats(*op, sample, DType::f64));
      Attrs rest = node.attrs;
      const std::vector<int64_t> begins = op->traits.take_place(rest);
      begun += std::ranges::any_of(begins, [](int64_t begin) { return begin != 0; });
      const std::vector<Array> found = run_text(node, module_with_data(node, begins));
      for (size_t k = 0; k < found.size(); ++k) {
        EXPECT_EQ(differs(found[k], node.outputs[k], 1e-12), "") << op->name << node.attrs.print();
      }
    }
  }
  EXPECT_GE(begun, 10) << "samples that begin elsewhere";
}

/// Returns the attributes of the two halves of a node along a factor; none if it cannot be cut so.
std::vector<Attrs> halves_along(const Case& node, size_t factor) {
  const OpCall call{node.attrs, node.input_types, node.output_types};
  const ShardingRule rule = node.op.rule(call);
  const Factor& cut = rule.factors[factor];
  if (cut.cutting == Cutting::whole || cut.size % 2 != 0 || has_window(rule, static_cast<int>(factor))) return {};
  const Mesh mesh({{"ranks", 2}});
  Cut axes(rule.factors.size());
  axes[factor] = {0};
  if (!illegal(rule, axes, mesh).empty()) return {};
  std::vector<Attrs> halves;
  for (int64_t rank = 0; rank < 2; ++rank) {
    halves.push_back(node.op.localize(node.attrs, shard(rule, axes, mesh, mesh.coordinates(rank), call)));
  }
  return halves;
}

// Halves of equal size differ in no attribute but where they begin, so that their ranks need no branches.
TEST(Begins, AreAllInWhichHalvesDiffer) {
  int differing = 0;
  for (const OpDef* op : every_op()) {
    if (!op->localize || (!op->emit && !op->pointwise)) continue;
    for (const Sample& sample : op->samples) {
      const Case node(*op, sample);
      const size_t factors = op->rule({node.attrs, node.input_types, node.output_types}).factors.size();
      for (size_t factor = 0; factor < factors; ++factor) {
        std::vector<Attrs> halves = halves_along(node, factor);
        if (halves.empty() || halves[0] == halves[1]) continue;
        ++differing;
        const std::string what = fmt::format("{}: {} and {}", op->name, halves[0].print(), halves[1].print());
        ASSERT_TRUE(op->traits.take_place) << what;
        EXPECT_NE(op->traits.take_place(halves[0]), op->traits.take_place(halves[1])) << what;
        EXPECT_EQ(halves[0], halves[1]) << what;
      }
    }
  }
  EXPECT_GE(differing, 20);
}

}  // namespace
}  // namespace partita::laws
