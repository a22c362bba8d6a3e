// Checks of ids on the host refuse those that kernels refuse.

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_refusal.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/loss/cross_entropy.h"
#include "ir/ops/registry.h"
#include "ir/ops/routing/attrs.h"

namespace partita {
namespace {

/// Returns the message of the check of three ids.
std::string refusal_of_ids(const std::string& op, const Attrs& attrs, std::vector<Type> inputs, DType dtype,
                           const std::vector<int64_t>& ids) {
  Array values({dtype, {3}});
  for (int64_t i = 0; i < 3; ++i) values.set(i, static_cast<double>(ids[static_cast<size_t>(i)]));
  const IdOperand& operand = all_ops().at(op).traits.ids;
  inputs[operand.operand] = values.type();
  return refusal_of([&] { require_ids(operand, {attrs, inputs, {}}, std::as_const(values).tensor()); });
}

struct IdCase {
  std::string op;
  Attrs attrs;
  std::vector<Type> inputs;
  int64_t limit;
  std::string message;  // for an id that is too large, in row 1
};

std::vector<IdCase> id_operand_cases() {
  const Type rows{DType::f32, {3, 4}}, table{DType::f64, {5, 4}};
  return {{"embedding",
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
           "[one_hot] label of row 1 is outside the classes, got 4, expected 0 to 3"},
          {"take_along",
           Attrs(TakeAlongAttrs{.begin = 4, .total = 8}),
           {rows, {}},
           8,
           "[take_along] index is outside the last dimension, got 8, expected 0 to 7"},
          {"put_along",
           Attrs(PutAlongAttrs{.size = 5}),
           {rows, {}},
           5,
           "[put_along] index is outside the last dimension, got 5, expected 0 to 4"}};
}

std::vector<IdCase> routing_cases() {
  const Type rows{DType::f32, {3, 4}};
  return {{"assign_slots",
           Attrs(AssignSlotsAttrs{.experts = 3, .capacity = 2}),
           {{}},
           3,
           "[assign_slots] id is no expert, got 3, expected 0 to 2"},
          {"dispatch",
           Attrs(DispatchAttrs{.size = 2, .begin = 2, .total = 6}),
           {rows, {}},
           7,
           "[dispatch] slot is outside its range, got 7, expected 0 to 5, or 6 for none"},
          {"combine",
           Attrs(CombineAttrs{}),
           {rows, {}},
           4,
           "[combine] slot is outside its range, got 4, expected 0 to 2, or 3 for none"},
          {"combine_grad_weights",
           Attrs(CombineAttrs{.begin = 3, .total = 6}),
           {rows, {}, rows},
           7,
           "[combine_grad_weights] slot is outside its range, got 7, expected 0 to 5, or 6 for "
           "none"}};
}

TEST(IdOperands, RefuseWhatKernelsRefuse) {
  std::vector<IdCase> cases = id_operand_cases();
  for (const IdCase& one : routing_cases()) cases.push_back(one);
  for (const IdCase& one : cases) {
    for (const DType dtype : {DType::i32, DType::i64}) {
      EXPECT_EQ(refusal_of_ids(one.op, one.attrs, one.inputs, dtype, {0, one.limit - 1, 1}), "accepted") << one.op;
      EXPECT_EQ(refusal_of_ids(one.op, one.attrs, one.inputs, dtype, {0, one.limit, 1}), one.message);
      const std::string negative = refusal_of_ids(one.op, one.attrs, one.inputs, dtype, {0, 1, -1});
      EXPECT_NE(negative.find("got -1, expected 0 to "), std::string::npos) << one.op << ": " << negative;
    }
  }
  EXPECT_FALSE(all_ops().at("matmul").traits.ids.limit);
  const Attrs open(OneHotAttrs{.depth = 2});
  EXPECT_EQ(refusal_of_ids("one_hot", open, {{}}, DType::i32, {0, 9, -1}), "accepted") << "such ids have no column";
}

}  // namespace
}  // namespace partita
