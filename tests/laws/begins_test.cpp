// Ranks whose shards differ in where they begin share a program, which takes that as data (OpTraits::take_place).

#include <gtest/gtest.h>

#include "compiler/emit/emit_node.h"
#include "ir/graph/emit_call.h"
#include "ir/ops/registry.h"
#include "laws/emitted.h"

namespace partita::laws {
namespace {

/// Calls `visit` with the cuts over all ranks of a mesh that no window and no expansion is in the way of.
void for_plain_cuts(const Case& node, const Mesh& mesh,
                    const std::function<void(const ShardingRule&, const Cut&)>& visit) {
  const ShardingRule rule = node.op.rule(node.call());
  for_cuts(rule, mesh, [&](const Cut& cut) {
    if (is_cut(cut) && illegal(rule, cut, mesh).empty() && !needs_expansion(rule, cut) && !cuts_window(rule, cut)) {
      visit(rule, cut);
    }
  });
}

/// Returns the module of a node whose attributes say neither where its shard begins nor how long it is.
std::string module_with_data(const Case& node, const Attrs& rest, const std::vector<int64_t>& begins) {
  return module_of(node.op.name, node.input_types, [&](HloBody& body, const std::vector<Hlo>& operands) {
    std::vector<Hlo> data;
    for (const int64_t begin : begins) data.push_back(call_in(body).splat_integer(begin, {DType::i64, {}}));
    return emit_node(all_ops(), node.op, {body, rest, operands, node.output_types, &data});
  });
}

TEST(Begins, AsDataGiveTheSameResultsOnParts) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  const Mesh mesh({{"x", 3}});
  for (const OpDef* op : every_op()) {
    if (!op->traits.take_place) continue;
    bool has_begins = false, begins_elsewhere = false;
    for (const Sample& sample : op->samples) {
      const Case node(*op, sample);
      for_plain_cuts(node, mesh, [&](const ShardingRule& rule, const Cut& cut) {
        for (const int64_t rank : {1, 2}) {
          const Case part = part_of(node, shard(rule, cut, mesh, {rank}, node.call()));
          Attrs rest = part.attrs;
          const std::vector<int64_t> begins = op->traits.take_place(rest);
          has_begins = has_begins || !begins.empty();
          begins_elsewhere = begins_elsewhere || std::ranges::any_of(begins, [](int64_t begin) { return begin != 0; });
          const std::vector<Array> found = run_text(part, module_with_data(part, rest, begins));
          for (size_t k = 0; k < found.size(); ++k) {
            EXPECT_EQ(differs(found[k], part.outputs[k], 1e-12), "") << op->name << part.attrs.print();
          }
        }
      });
    }
    EXPECT_EQ(begins_elsewhere, has_begins) << op->name;
  }
}

/// Ops whose emissions read sizes of a shard from attributes: heads, groups of channels, ends. Ranks need branches for
/// them if shards have several sizes.
const std::set<std::string>& branching() {
  static const std::set<std::string> ops{
      "attention", "attention_grad", "attention_within", "conv2d", "conv2d_grad_filter", "conv2d_grad_input", "slice"};
  return ops;
}

// Shards differ in no attribute but where they begin and how long they are, so that their ranks need no branches.
TEST(Begins, AreAllInWhichShardsDiffer) {
  std::set<std::string> differing, branches;
  for (const OpDef* op : every_op()) {
    if (!op->localize || (!op->emit && !op->pointwise)) continue;
    for (const Sample& sample : op->samples) {
      const Case node(*op, sample);
      for (const int64_t ranks : {2, 3}) {
        const Mesh mesh({{"x", ranks}});
        for_plain_cuts(node, mesh, [&](const ShardingRule& rule, const Cut& cut) {
          const Shard first = shard(rule, cut, mesh, {0}, node.call()),
                      last = shard(rule, cut, mesh, {ranks - 1}, node.call());
          Attrs one = op->localize(node.attrs, first), other = op->localize(node.attrs, last);
          if (one == other) return;
          differing.insert(op->name);
          const std::string what = fmt::format("{}: {} and {}", op->name, one.print(), other.print());
          if (op->traits.take_place) {
            EXPECT_EQ(op->traits.take_place(one).size(), op->traits.take_place(other).size()) << what;
          }
          if (one == other) return;
          branches.insert(op->name);
          const auto sizes = [](const Shard& part) {
            std::vector<int64_t> sizes;
            for (const Range& range : part.factors) sizes.push_back(range.count());
            return sizes;
          };
          EXPECT_NE(sizes(first), sizes(last)) << what;
        });
      }
    }
  }
  EXPECT_EQ(branches, branching());
  EXPECT_GE(differing.size(), 16u);
}

}  // namespace
}  // namespace partita::laws
