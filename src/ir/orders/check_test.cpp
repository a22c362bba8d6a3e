#include "ir/orders/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/test_refusal.h"
#include "ir/orders/simulate.h"
#include "ir/orders/test_orders.h"

namespace partita {
namespace {

constexpr StageSection F = StageSection::forward, B = StageSection::backward, W = StageSection::weight;

std::string order_refusal(const PipelineShape& shape, const std::vector<Dependency>& dependencies) {
  return refusal_of([&] { make_sequence(Order::zero_bubble, shape, dependencies); });
}

std::string check_refusal(const Sequence& sequence, const PipelineShape& shape) {
  return refusal_of([&] { check(sequence, shape, chain_of(shape.stages())); });
}

TEST(CheckSequence, Shapes) {
  EXPECT_EQ(order_refusal({{}, 1}, {}), "[pipeline] bad number of stages, got 0, expected 1 to 16777216");
  EXPECT_EQ(order_refusal({{0, 1}, 0}, {}),
            "[pipeline] bad number of micro-batches, got 0, expected 1 to 8388608 for 2 stages");
  EXPECT_EQ(order_refusal({{0, 1}, int64_t{1} << 40}, {}),
            "[pipeline] bad number of micro-batches, got 1099511627776, expected 1 to 8388608 for 2 stages");
  EXPECT_EQ(order_refusal({{0, -1}, 1}, {}), "[pipeline] bad group of stage 1, got -1, expected 0 to 1");
  EXPECT_EQ(order_refusal({{0, 2}, 1}, {}), "[pipeline] bad group of stage 1, got 2, expected 0 to 1");
  EXPECT_EQ(order_refusal({{0, 2, 2}, 1}, {}),
            "[pipeline] a group without a stage, got none on group 1 of 0 to 2, expected at least one");
  EXPECT_EQ(order_refusal({{0, 1}, 1, {{1, 1, 1}}}, {}),
            "[pipeline] times of the wrong number of stages, got 1, expected 2");
  EXPECT_EQ(order_refusal({{0}, 1, {{1, -2, 1}}}, {}),
            "[pipeline] bad time of stage 0, got -2 s, expected 0 s or more");
  EXPECT_EQ(order_refusal({{0}, 1, {{NAN, 2, 1}}}, {}),
            "[pipeline] bad time of stage 0, got nan s, expected 0 s or more");
}

TEST(CheckSequence, Dependencies) {
  const PipelineShape shape = one_stage_each(3, 2);
  EXPECT_EQ(order_refusal(shape, {{0, F, 3, F}}),
            "[pipeline] a dependency of a stage that does not exist, got 3, expected 0 to 2");
  EXPECT_EQ(order_refusal(shape, {{-1, F, 0, F}}),
            "[pipeline] a dependency of a stage that does not exist, got -1, expected 0 to 2");
  EXPECT_EQ(order_refusal(shape, {{1, B, 0, F}}),
            "[pipeline] a section needs a later one, got the backward of stage 1 for the forward of stage 0, expected "
            "forward or before");
  EXPECT_EQ(
      order_refusal(shape, {{0, F, 1, F}, {1, F, 2, F}, {2, F, 0, F}}),
      "[pipeline] stages need each other, got the forward of stage 0 needs the forward of stage 2, which needs the "
      "forward of stage 1, which needs the forward of stage 0, expected no cycle");
  EXPECT_EQ(order_refusal(shape, {{1, B, 1, B}}),
            "[pipeline] stages need each other, got the backward of stage 1 needs the backward of stage 1, expected no "
            "cycle");
  EXPECT_EQ(order_refusal(shape, {{1, B, 1, W}, {1, F, 1, B}, {0, F, 2, F}, {0, F, 2, F}}), "accepted");
  const auto within = [&] { make_sequence(Order::gpipe, shape, {{1, B, 1, W}, {2, B, 1, W}}); };
  EXPECT_EQ(refusal_of(within), "accepted");
}

TEST(CheckSequence, Slots) {
  const PipelineShape shape = one_stage_each(2, 2);
  const Sequence good = make_sequence(Order::one_forward_one_backward, shape, chain_of(2));
  ASSERT_EQ(good, (Sequence{{0, F, 0}, {0, F, 1}, {1, F, 0}, {1, B, 0}, {0, B, 0}, {1, F, 1}, {1, B, 1}, {0, B, 1}}));
  EXPECT_EQ(check_refusal(good, shape), "accepted");
  const auto with = [&](size_t place, const Slot& slot) {
    Sequence edited = good;
    edited[place] = slot;
    return check_refusal(edited, shape);
  };
  EXPECT_EQ(with(2, {2, F, 0}), "[sequence] a stage that does not exist, got stage 2 F0, expected stages 0 to 1");
  EXPECT_EQ(with(2, {-1, F, 0}), "[sequence] a stage that does not exist, got stage -1 F0, expected stages 0 to 1");
  EXPECT_EQ(with(5, {1, F, 2}),
            "[sequence] a micro-batch that does not exist, got stage 1 F2, expected micro-batches 0 to 1");
  EXPECT_EQ(with(5, {1, F, -1}),
            "[sequence] a micro-batch that does not exist, got stage 1 F-1, expected micro-batches 0 to 1");
  EXPECT_EQ(with(5, {1, F, 0}), "[sequence] a slot appears twice, got stage 1 F0 at places 2 and 5, expected it once");
  Sequence without = good;
  without.erase(without.begin() + 4);
  EXPECT_EQ(check_refusal(without, shape),
            "[sequence] a slot is missing, got no stage 0 B0, expected micro-batches 0 to 1 in each section");
  EXPECT_EQ(check_refusal({}, shape),
            "[sequence] a slot is missing, got no stage 0 F0, expected micro-batches 0 to 1 in each section");
  Sequence swapped = good;
  std::swap(swapped[0], swapped[1]);
  EXPECT_EQ(check_refusal(swapped, shape),
            "[sequence] micro-batches out of order, got stage 0 F0 after stage 0 F1, expected them to increase");
  Sequence early = good;
  std::swap(early[5], early[6]);
  EXPECT_EQ(check_refusal(early, shape),
            "[sequence] backward before forward, got stage 1 B1 before stage 1 F1, expected stage 1 F1 first");
}

TEST(CheckSequence, WeightSlots) {
  const PipelineShape shape = one_stage_each(3, 1);
  const Sequence good = make_sequence(Order::zero_bubble, shape, chain_of(3));
  ASSERT_EQ(good.size(), 9U);
  Sequence some;
  for (const Slot& slot : good) {
    if (slot.section != W || slot.stage == 1) some.push_back(slot);
  }
  EXPECT_EQ(check_refusal(some, shape),
            "[sequence] only some stages have weight slots, got them for stages 1 and not for 0, 2, expected all "
            "stages or none");
  Sequence early = good;
  std::swap(*std::ranges::find(early, Slot{2, B, 0}), *std::ranges::find(early, Slot{2, W, 0}));
  EXPECT_EQ(check_refusal(early, shape),
            "[sequence] weight before backward, got stage 2 W0 before stage 2 B0, expected stage 2 B0 first");
  PipelineShape forwards = shape;
  forwards.forward_only = true;
  EXPECT_EQ(check_refusal(good, forwards),
            "[sequence] a backward slot where only forwards run, got stage 2 B0, expected only forward slots");
}

TEST(CheckSequence, NamesTheCycle) {
  const PipelineShape shape = one_stage_each(2, 2);
  // Stage 0 needs the gradient of micro-batch 0 before it begins micro-batch 1; stage 1 runs both forward passes first.
  const Sequence sequence{{0, F, 0}, {0, B, 0}, {0, F, 1}, {0, B, 1}, {1, F, 0}, {1, F, 1}, {1, B, 0}, {1, B, 1}};
  EXPECT_EQ(check_refusal(sequence, shape),
            "[sequence] the order deadlocks, got stage 0 B0 waits for stage 1 B0, which comes after stage 1 F1, which "
            "waits for stage 0 F1, which comes after stage 0 B0, expected no cycle");
  const PipelineShape shared{{0, 0}, 1};
  EXPECT_EQ(check_refusal({{1, F, 0}, {0, F, 0}, {1, B, 0}, {0, B, 0}}, shared),
            "[sequence] the order deadlocks, got stage 1 F0 waits for stage 0 F0, which comes after stage 1 F0, "
            "expected no cycle");
  const PipelineShape three = one_stage_each(3, 2);
  const Sequence longer{{2, F, 0}, {2, F, 1}, {2, B, 0}, {2, B, 1}, {1, F, 0}, {1, F, 1},
                        {1, B, 0}, {1, B, 1}, {0, F, 0}, {0, B, 0}, {0, F, 1}, {0, B, 1}};
  EXPECT_EQ(check_refusal(longer, three),
            "[sequence] the order deadlocks, got stage 1 F1 waits for stage 0 F1, which comes after stage 0 B0, which "
            "waits for stage 1 B0, which comes after stage 1 F1, expected no cycle");
}

TEST(CheckSequence, AcceptsWhatEndsInAnyGlobalOrder) {
  const PipelineShape shape = one_stage_each(3, 4);
  const Sequence made = make_sequence(Order::zero_bubble, shape, chain_of(3));
  Sequence by_stage = made;
  std::ranges::stable_sort(by_stage, [](const Slot& a, const Slot& b) { return a.stage > b.stage; });
  EXPECT_FALSE(is_topological(by_stage, chain_of(3)));
  EXPECT_EQ(check_refusal(by_stage, shape), "accepted");
  EXPECT_EQ(in_order_of_time(by_stage, shape, chain_of(3)), made);
}

/// Whether the slots are those of the shape, each section in order. Independent of `check`, for comparison.
bool is_complete(const Sequence& sequence, const PipelineShape& shape) {
  std::vector<std::vector<int64_t>> counts(shape.stages(), std::vector<int64_t>(3));
  for (const Slot& slot : sequence) {
    if (slot.stage < 0 || slot.stage >= shape.stages()) return false;
    std::vector<int64_t>& count = counts[slot.stage];
    const auto section = static_cast<size_t>(slot.section);
    if (slot.micro_batch != count[section]++ || slot.micro_batch >= shape.micro_batches) return false;
    if (section > 0 && count[section - 1] < count[section]) return false;
  }
  for (const std::vector<int64_t>& count : counts) {
    if (count[0] != shape.micro_batches || count[1] != count[0] || count[2] != counts[0][2]) return false;
    if (count[2] != 0 && count[2] != count[0]) return false;
  }
  return true;
}

TEST(CheckSequence, RandomEditsAreRefusedOrEnd) {
  std::mt19937 random(11);
  const auto below = [&](size_t end) { return random() % end; };
  const std::vector<PipelineShape> shapes = pipelines();
  int accepted = 0, cycles = 0, edited = 0;
  for (; edited < 12000; ++edited) {
    const PipelineShape& shape = shapes[below(shapes.size())];
    const auto dependencies = below(2) == 0 ? chain_of(shape.stages()) : with_skips(shape.stages());
    Sequence sequence = make_sequence(kOrders[below(4)], shape, dependencies);
    for (size_t edits = 1 + below(4); edits > 0 && !sequence.empty(); --edits) {
      const size_t place = below(sequence.size()), other = below(sequence.size());
      switch (below(8)) {
        case 0: std::swap(sequence[place], sequence[other]); break;
        case 1: sequence.erase(sequence.begin() + place); break;
        case 2: sequence.insert(sequence.begin() + place, sequence[other]); break;
        case 3: sequence[place].micro_batch += static_cast<int64_t>(below(3)) - 1; break;
        case 4: sequence[place].stage += static_cast<int>(below(3)) - 1; break;
        case 5: sequence[place].section = kSlotSections[below(3)]; break;
        default: {  // earlier or later
          const size_t from = std::min(place, other), to = std::max(place, other);
          const auto middle = sequence.begin() + (below(2) == 0 ? from + 1 : to);
          std::rotate(sequence.begin() + from, middle, sequence.begin() + to + 1);
        }
      }
    }
    const bool is_legal = is_complete(sequence, shape) && ends(sequence, shape, dependencies);
    const std::string refusal = refusal_of([&] { check(sequence, shape, dependencies); });
    ASSERT_EQ(refusal == "accepted", is_legal) << refusal;
    cycles += refusal.find("deadlocks") != refusal.npos ? 1 : 0;
    if (refusal != "accepted") continue;
    ++accepted;
    const Sequence in_order = in_order_of_time(sequence, shape, dependencies);
    ASSERT_TRUE(is_topological(in_order, dependencies));
    ASSERT_EQ(queues_of(in_order, shape), queues_of(sequence, shape));
  }
  EXPECT_GT(accepted, edited / 20);
  EXPECT_GT(cycles, edited / 100);
  EXPECT_LT(accepted + cycles, edited);
}

}  // namespace
}  // namespace partita
