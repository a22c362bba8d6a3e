// Ids that a kernel refuses are refused by the check of its op, with the same message, on the host and in programs.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/philox.h"
#include "compiler/emit/emit_node.h"
#include "ir/ops/id_flags.h"
#include "ir/ops/registry.h"
#include "laws/emitted.h"

namespace partita::laws {
namespace {

/// Returns the message of InvalidArgument that an action throws; "" if it throws nothing.
std::string refusal_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

bool is_integers(const Type& type) { return type.dtype == DType::i32 || type.dtype == DType::i64; }

/// Returns what the kernel and the check of its op say about a sample's operand, with one other element.
std::pair<std::string, std::string> refusals_of(const OpDef& op, const Sample& sample, size_t operand, int64_t at,
                                                int64_t id) {
  std::vector<Array> inputs = fill(sample);
  inputs[operand].set(at, static_cast<double>(id));
  const Attrs& attrs = sample.attrs.empty() ? op.attrs : sample.attrs;
  const std::string kernel = refusal_by([&] { run(op, attrs, inputs); });
  const std::vector<Type> types = types_of(inputs), outputs = op.infer({attrs, types, {}});
  const IdOperand& ids = op.traits.ids;
  if (!ids.limit || ids.operand != operand) return {kernel, ""};
  return {kernel, refusal_by([&] {
            require_ids(ids, {attrs, types, outputs}, std::as_const(inputs[operand]).tensor());
          })};
}

// An op whose kernel checks an operand and says nothing of it fails here.
TEST(IdOperands, AreThoseThatKernelsCheck) {
  std::set<std::string> refusing;
  for (const OpDef* op : every_op()) {
    for (const Sample& sample : op->samples) {
      for (size_t operand = 0; operand < sample.inputs.size(); ++operand) {
        const Type& type = sample.inputs[operand].type;
        if (!is_integers(type)) continue;
        const int64_t most = sample.inputs[operand].fill.below;
        for (int64_t at = 0; at < type.elements(); ++at) {
          for (const int64_t id : {int64_t{-1}, int64_t{0}, most - 1, most, most + 1, int64_t{1} << 30}) {
            const auto [kernel, check] = refusals_of(*op, sample, operand, at, id);
            EXPECT_EQ(kernel, check) << op->name << " with " << id << " in operand " << operand;
            if (!kernel.empty()) refusing.insert(op->name);
          }
        }
      }
    }
    if (op->traits.ids.limit) {
      EXPECT_TRUE(refusing.contains(op->name)) << op->name << " refuses no id of its samples";
    }
  }
  EXPECT_GE(refusing.size(), 12u);
}

/// Returns the flag of a search for ids that are not in [0, limit).
std::vector<int64_t> found_by_program(const Array& ids, int64_t limit) {
  Case node(all_ops().at("neg"), Attrs{}, {Array({DType::f64, {1}})});
  node.inputs = {ids};
  node.output_types = {{DType::i64, {2}}};
  const std::string text = module_of("flag", {ids.type()}, [&](HloBody& body, const std::vector<Hlo>& arguments) {
    return std::vector<Hlo>{emit_id_flag(body, arguments[0], limit)};
  });
  const std::vector<Array> found = run_text(node, text);
  return {static_cast<int64_t>(found[0].at(0)), static_cast<int64_t>(found[0].at(1))};
}

TEST(IdOperands, ProgramsFindTheFirstIdOutOfRange) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  uint64_t key = 0;
  for (const Shape& shape : std::vector<Shape>{{}, {0}, {1}, {7}, {2, 0, 3}, {3, 5}, {2, 3, 4}, {1000}}) {
    for (const DType dtype : {DType::i32, DType::i64}) {
      for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{50}, int64_t{1} << 31, int64_t{1} << 40}) {
        Array ids({dtype, shape});
        const int64_t count = ids.type().elements(), bad = static_cast<int64_t>(++key % 4);  // about as many are bad
        for (int64_t i = 0; i < count; ++i) {
          const auto draw = [&](int64_t below) {
            return static_cast<int64_t>(random_below(key, i, 1, static_cast<uint64_t>(below)));
          };
          const int64_t beyond = dtype == DType::i32 ? (int64_t{1} << 31) - 1 : limit + draw(9);
          const bool is_bad = draw(count) < bad;
          ids.set(i, static_cast<double>(!is_bad        ? draw(std::max<int64_t>(1, std::min<int64_t>(limit, 1000)))
                                         : draw(2) == 0 ? -1 - draw(1 << 30)
                                                        : beyond));
        }
        std::vector<int64_t> expected{0, 0};
        for (int64_t i = count; i-- > 0;) {
          const auto id = static_cast<int64_t>(ids.at(i));
          if (id < 0 || id >= limit) expected = {count - i, id};
        }
        std::vector<int64_t> found = found_by_program(ids, limit);
        if (found[0] == 0) found[1] = 0;  // no id
        EXPECT_EQ(found, expected) << print(ids.type()) << " below " << limit;
      }
    }
  }
}

}  // namespace
}  // namespace partita::laws
