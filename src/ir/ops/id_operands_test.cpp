// Checks of ids on the host refuse those that kernels refuse.

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/loss/cross_entropy.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

/// Returns the message of the check of three ids.
std::string refusal_of(const std::string& op, const Attrs& attrs, std::vector<Type> inputs, DType dtype,
                       const std::vector<int64_t>& ids) {
  Array values({dtype, {3}});
  for (int64_t i = 0; i < 3; ++i) values.set(i, static_cast<double>(ids[static_cast<size_t>(i)]));
  const IdOperand& operand = all_ops().at(op).traits.ids;
  inputs[operand.operand] = values.type();
  const std::vector<Type> results;
  try {
    operand.require({attrs, inputs, results}, std::as_const(values).tensor());
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(IdOperands, RefuseWhatKernelsRefuse) {
  const Type rows{DType::f32, {3, 4}}, table{DType::f64, {5, 4}};
  struct Case {
    std::string op;
    Attrs attrs;
    std::vector<Type> inputs;
    int64_t limit;
    std::string message;  // for an id that is too large, in row 1
  };
  const std::vector<Case> cases{{"embedding",
                                 Attrs(EmbeddingAttrs{}),
                                 {table, {}},
                                 5,
                                 "[embedding] id is outside the table, got 5, expected 0 to 4"},
                                {"embedding",
                                 Attrs(EmbeddingAttrs{.begin = 5, .rows = 10}),
                                 {table, {}},
                                 10,
                                 "[embedding] id is outside the table, got 10, expected 0 to 9"},
                                {"scatter_rows",
                                 Attrs(ScatterRowsAttrs{.rows = 5, .begin = 5, .total = 10}),
                                 {{}, rows},
                                 10,
                                 "[scatter_rows] id is outside the table, got 10, expected 0 to 9"},
                                {"scatter_add",
                                 Attrs(ScatterAddAttrs{}),
                                 {table, {}, {DType::f64, {3, 4}}},
                                 5,
                                 "[scatter_add] id is outside the table, got 5, expected 0 to 4"},
                                {"cross_entropy",
                                 all_ops().at("cross_entropy").attrs,
                                 {rows, {}},
                                 4,
                                 "[cross_entropy] label of row 1 is outside the classes, got 4, expected 0 to 3"},
                                {"cross_entropy_grad",
                                 Attrs(CrossEntropyGradAttrs{.classes = 8, .begin = 4}),
                                 {rows, {}, {}, {}},
                                 8,
                                 "[cross_entropy_grad] label of row 1 is outside the classes, got 8, expected 0 to 7"},
                                {"one_hot",
                                 Attrs(OneHotAttrs{.depth = 2, .begin = 2, .classes = 4}),
                                 {{}},
                                 4,
                                 "[one_hot] label of row 1 is outside the classes, got 4, expected 0 to 3"}};
  for (const Case& one : cases) {
    for (const DType dtype : {DType::i32, DType::i64}) {
      EXPECT_EQ(refusal_of(one.op, one.attrs, one.inputs, dtype, {0, one.limit - 1, 1}), "") << one.op;
      EXPECT_EQ(refusal_of(one.op, one.attrs, one.inputs, dtype, {0, one.limit, 1}), one.message);
      const std::string negative = refusal_of(one.op, one.attrs, one.inputs, dtype, {0, 1, -1});
      EXPECT_NE(negative.find("got -1, expected 0 to "), std::string::npos) << one.op << ": " << negative;
    }
  }
  EXPECT_FALSE(all_ops().at("matmul").traits.ids.require);
  const Attrs open(OneHotAttrs{.depth = 2});
  EXPECT_EQ(refusal_of("one_hot", open, {{}}, DType::i32, {0, 9, -1}), "") << "such ids have no column";
}

}  // namespace
}  // namespace partita
