// Checks beyond the op laws: slot assignment, results of a token without a slot, and errors.

#include "ir/ops/routing/routing.h"

#include <gtest/gtest.h>

#include "base/test_refusal.h"
#include "ir/ops/test_kernels.h"

namespace partita {
namespace {

std::vector<double> routed(const std::string& name, const std::vector<Array>& inputs, const Attrs& attrs) {
  const Array output = run_kernel(all_ops().at(name), attrs, inputs).at(0);
  std::vector<double> values;
  for (int64_t i = 0; i < output.type().elements(); ++i) values.push_back(output.at(i));
  return values;
}

using Row = std::vector<double>;
Array ids_array(const Shape& shape, const std::vector<int32_t>& ids) { return Array(shape, ids); }

TEST(AssignSlots, FirstChoicesComeBeforeSecondOnes) {
  // Tokens 0, 1, 2 choose (1, 0), (1, 0), (0, 1). Each expert has two slots; 4 means none.
  const Array ids = ids_array({3, 2}, {1, 0, 1, 0, 0, 1});
  EXPECT_EQ(routed("assign_slots", {ids}, AssignSlotsAttrs{.experts = 2, .capacity = 2}), (Row{2, 1, 3, 4, 0, 4}));
  EXPECT_EQ(routed("assign_slots", {ids}, AssignSlotsAttrs{.experts = 2, .capacity = 3}), (Row{3, 1, 4, 2, 0, 5}));
}

TEST(AssignSlots, GroupsCountForThemselves) {
  const Array ids = ids_array({2, 2, 1}, {0, 0, 0, 0});
  EXPECT_EQ(routed("assign_slots", {ids}, AssignSlotsAttrs{.experts = 1, .capacity = 1}), (Row{0, 1, 0, 1}));
}

TEST(Dispatch, AndCombineAreEachOthersInverse) {
  const Array x({3, 2}, Row{1, 2, 3, 4, 5, 6});
  const Array slots = ids_array({3, 1}, {2, 4, 0});  // token 1 has none
  const Row sent = routed("dispatch", {x, slots}, DispatchAttrs{.size = 4});
  EXPECT_EQ(sent, (Row{5, 6, 0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(routed("combine", {Array({4, 2}, sent), slots}, CombineAttrs{}), (Row{1, 2, 0, 0, 5, 6}));
}

TEST(Combine, WeighsAndAddsUp) {
  const Array y({2, 2}, Row{1, 2, 10, 20}), weights({1, 3}, Row{0.5, 0.25, 7});
  const Array slots = ids_array({1, 3}, {0, 1, 2});
  EXPECT_EQ(routed("combine", {y, slots, weights}, CombineAttrs{}), (Row{3, 6}));
  EXPECT_EQ(routed("combine_grad_weights", {y, slots, Array({1, 2}, Row{1, 1})}, CombineAttrs{}), (Row{3, 30, 0}));
}

TEST(Routing, RefusesWhatTheKernelsCannotTake) {
  const Array ids = ids_array({3, 2}, {0, 1, 2, 0, 1, 2}), x({3, 4}, Row(12, 1)), weights({3, 1}, Row(3, 1));
  const auto refused = [&](const std::string& op, const std::vector<Array>& inputs, const Attrs& attrs) {
    return refusal_of([&] { routed(op, inputs, attrs); });
  };
  EXPECT_EQ(refused("assign_slots", {x}, AssignSlotsAttrs{3, 2}),
            "[assign_slots] operand does not fit, got f64[3,4], expected integer ids[.., n, k]");
  EXPECT_EQ(refused("assign_slots", {ids}, AssignSlotsAttrs{3, 0}),
            "[assign_slots] no slots, got {experts=3, capacity=0}, expected at least one expert and a capacity of at "
            "least 1");
  EXPECT_EQ(refused("assign_slots", {ids}, AssignSlotsAttrs{1 << 20, 1 << 20}),
            "[assign_slots] too many slots, got {experts=1048576, capacity=1048576}, expected numbers that an i32 "
            "holds");
  EXPECT_EQ(refused("assign_slots", {ids}, AssignSlotsAttrs{2, 2}),
            "[assign_slots] id is no expert, got 2, expected 0 to 1");
  EXPECT_EQ(refused("dispatch", {x, x}, DispatchAttrs{2}),
            "[dispatch] slots are not integers, got f64[3,4], expected i32 or i64");
  EXPECT_EQ(refused("dispatch", {Array({2, 4}, Row(8, 1)), ids}, DispatchAttrs{2}),
            "[dispatch] operands do not fit, got f64[2,4], i32[3,2], expected rows [.., n, z] and slots [.., n, k]");
  EXPECT_EQ(refused("dispatch", {x, ids, weights}, DispatchAttrs{2}),
            "[dispatch] weights do not fit the slots, got f64[3,1], expected f64[3,2]");
  EXPECT_EQ(refused("dispatch", {x, ids}, DispatchAttrs{2, 1, 2}),
            "[dispatch] the slots are outside their range, got {size=2, begin=1, total=2}, expected 0 <= begin and "
            "begin + local slots <= total");
  EXPECT_EQ(refused("combine", {x, ids}, CombineAttrs{0, -1}),
            "[combine] the slots are outside their range, got {begin=0, total=-1}, expected 0 <= begin and begin + "
            "local slots <= total");
  EXPECT_EQ(refused("dispatch", {x, ids}, DispatchAttrs{1}),
            "[dispatch] slot is outside its range, got 2, expected 0 to 0, or 1 for none");
  EXPECT_EQ(refused("combine", {Array({1, 2, 4}, Row(8, 1)), ids}, CombineAttrs{}),
            "[combine] operands do not fit, got f64[1,2,4], i32[3,2], expected rows [.., v, z] and slots [.., n, k]");
  EXPECT_EQ(refused("combine", {Array({1, 4}, Row(4, 1)), ids}, CombineAttrs{}),
            "[combine] slot is outside its range, got 2, expected 0 to 0, or 1 for none");
  EXPECT_EQ(refused("combine_grad_weights", {x, ids, Array({3, 5}, Row(15, 1))}, CombineAttrs{}),
            "[combine_grad_weights] operands do not fit, got f64[3,4], i32[3,2], f64[3,5], expected rows of one type "
            "and width");
}

}  // namespace
}  // namespace partita
