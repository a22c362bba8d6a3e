#include "ir/orders/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/test_refusal.h"
#include "ir/orders/draw.h"
#include "ir/orders/simulate.h"
#include "ir/orders/test_orders.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

std::string text_of_order(Order order, const PipelineShape& shape) {
  return print(make_sequence(order, shape, chain_of(shape.stages())), shape);
}

std::string refused_text(std::string_view text, const PipelineShape& shape) {
  return refusal_of([&] { parse_sequence(text, shape, chain_of(shape.stages())); });
}

TEST(SequenceText, RoundTrips) {
  for (const PipelineShape& shape : pipelines()) {
    for (const Order order : kOrders) {
      const Sequence sequence = make_sequence(order, shape, with_skips(shape.stages()));
      const std::string text = print(sequence, shape);
      EXPECT_EQ(parse_sequence(text, shape, with_skips(shape.stages())), sequence) << text;
    }
  }
}

TEST(SequenceText, SaysRepetitionsOnce) {
  EXPECT_EQ(text_of_order(Order::one_forward_one_backward, one_stage_each(3, 8)),
            "group 0: F0 F1 [F2 B0]..[F7 B5] B6 B7\n"
            "group 1: F0 [F1 B0]..[F7 B6] B7\n"
            "group 2: [F0 B0]..[F7 B7]\n");
  EXPECT_EQ(text_of_order(Order::gpipe, one_stage_each(2, 4)), "group 0: F0..F3 B0..B3\ngroup 1: F0..F3 B0..B3\n");
  EXPECT_EQ(text_of_order(Order::gpipe, {{0, 0}, 2}), "group 0: F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0\n");
}

TEST(SequenceText, DoesNotGrowWithMicroBatches) {
  for (const Order order : kOrders) {
    const PipelineShape few = one_stage_each(8, 100), many = one_stage_each(8, 1000);
    EXPECT_LT(text_of_order(order, many).size(), text_of_order(order, few).size() + 400);
  }
  EXPECT_LT(text_of_order(Order::interleaved, chunks_on(8, 16, 1000)).size(), 8000U);
}

TEST(SequenceText, ReadsSlotsInAnyWriting) {
  const PipelineShape shape = one_stage_each(2, 4);
  const Sequence sequence = make_sequence(Order::one_forward_one_backward, shape, chain_of(2));
  for (const std::string_view text :
       {"group 0: F0 F1 B0 F2 B1 F3 B2 B3\ngroup 1: F0 B0 F1 B1 F2 B2 F3 B3",
        "group 0: F0..F1 [B0 F2]..[B1 F3] B2..B3\n\ngroup 1: [F0 B0 F1 B1]..[F2 B2 F3 B3]\n",
        "group 0: F0.0 F1.0 B0.0 F2.0 [ B1 F3 ] B2 B3..B3\n  group 1 :[F0 B0].. [F2 B2] F3 B3\n"}) {
    EXPECT_EQ(parse_sequence(text, shape, chain_of(2)), sequence) << text;
  }
}

TEST(SequenceText, Messages) {
  const PipelineShape shape = one_stage_each(2, 2);
  const PipelineShape shared = chunks_on(2, 4, 2);
  const auto first_line = [&](const std::string& slots) { return refused_text("group 0: " + slots, shape); };
  EXPECT_EQ(refused_text("", shape), "[sequence] groups are missing, got 0, expected 2");
  EXPECT_EQ(refused_text("group 0: F0\n", shape), "[sequence] groups are missing, got 1, expected 2");
  EXPECT_EQ(refused_text("group 0:\ngroup 1:\n\ngroup 2:", shape),
            "[sequence] line 4: too many groups, got 'group 2:', expected 2");
  EXPECT_EQ(refused_text("group 1: F0", shape),
            "[sequence] line 1: groups out of order, got 'group 1', expected group 0");
  EXPECT_EQ(refused_text("rank 1: F0", shape),
            "[sequence] line 1: unexpected text, got 'rank 1: F0', expected 'group'");
  EXPECT_EQ(first_line("F0 G0 F1"), "[sequence] line 1: not a slot, got 'G0', expected F, B or W with a micro-batch");
  EXPECT_EQ(first_line("[F0 F1"), "[sequence] line 1: not a slot, got '', expected F, B or W with a micro-batch");
  EXPECT_EQ(first_line("F0 F2"), "[sequence] line 1: bad number, got '2', expected 0 to 1");
  EXPECT_EQ(first_line("F0.1"), "[sequence] line 1: a stage of another group, got '1', expected stage 0 as in F0.0");
  EXPECT_EQ(refused_text("group 0: F0.1", shared),
            "[sequence] line 1: a stage of another group, got '1', expected one of 0, 2 as in F0.2");
  EXPECT_EQ(refused_text("group 0: F1 F0", shared),
            "[sequence] line 1: a slot without its stage, got 'F1', expected one of 0, 2 as in F0.2");
  for (const char* slots : {"F0..B1", "F1..F0", "[F0 B0]..[F1 B0]", "[F0 B0]..F1", "[F0 F1]..[F1 F1]"}) {
    const std::string refusal = first_line(slots);
    EXPECT_NE(refusal.find("[sequence] line 1: the end of a repetition does not match its beginning, got '"),
              refusal.npos)
        << slots << ": " << refusal;
  }
  std::string often;
  for (int i = 0; i < 7; ++i) often += "F0..F1 ";
  EXPECT_EQ(first_line(often),
            "[sequence] line 1: more slots than the group has, got 'F0', expected at most 2 per section and stage");
  EXPECT_EQ(refused_text("group 0: F0 F1 B1\ngroup 1: F0 F1 B0 B1", shape),
            "[sequence] a slot is missing, got no stage 0 B0, expected micro-batches 0 to 1 in each section");
}

TEST(SequenceText, MutationsAreRefusedOrEnd) {
  std::mt19937 random(5);
  const std::vector<PipelineShape> shapes = pipelines();
  const std::string letters = "FBW0123456789.[] :\n-~groupx";
  int accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    const PipelineShape& shape = shapes[random() % shapes.size()];
    std::string text = text_of_order(kOrders[random() % 4], shape);
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t place = random() % text.size();
      switch (random() % 4) {
        case 0: text[place] = letters[random() % letters.size()]; break;
        case 1: text.erase(place, 1 + random() % 6); break;
        case 2: text.insert(place, 1, letters[random() % letters.size()]); break;
        default: text.insert(place, text.substr(random() % text.size(), 1 + random() % 8));
      }
      if (text.empty()) break;
    }
    if (refused_text(text, shape) != "accepted") continue;
    ++accepted;
    const Sequence sequence = parse_sequence(text, shape, chain_of(shape.stages()));
    EXPECT_TRUE(is_topological(sequence, chain_of(shape.stages()))) << text;
    EXPECT_EQ(parse_sequence(print(sequence, shape), shape, chain_of(shape.stages())), sequence);
  }
  EXPECT_GT(accepted, 10);
}

TEST(DrawSequence, SlotsAsLongAsTheirTimes) {
  PipelineShape shape = one_stage_each(2, 2);
  shape.times = {{1, 1, 0}, {1, 2, 2}};
  EXPECT_EQ(draw(make_sequence(Order::one_forward_one_backward, shape, chain_of(2)), shape, chain_of(2)),
            "group 0: F0 F1 .. .. .. .. B0 .. .. .. .. B1  bubble 66.7 %\n"
            "group 1: .. F0 B0--------- F1 B1--------- ..  bubble 16.7 %\n"
            "bubble 41.7 % of 12 s\n");
  shape.times = {{1, 1, 0}, {1, 1, 0}};
  EXPECT_EQ(draw(make_sequence(Order::zero_bubble, shape, chain_of(2)), shape, chain_of(2)),
            "group 0: F0 F1 .. B0 .. B1  bubble 33.3 %\n"
            "group 1: .. F0 B0 F1 B1 ..  bubble 33.3 %\n"
            "bubble 33.3 % of 6 s\n")
      << "weight slots take no time";
}

TEST(DrawSequence, ShowsBeginningAndEndOfLongRows) {
  const PipelineShape shape = one_stage_each(2, 100);
  const Sequence sequence = make_sequence(Order::one_forward_one_backward, shape, chain_of(2));
  EXPECT_EQ(draw(sequence, shape, chain_of(2), 40),
            "group 0: F0  F1  ..  ..  B0  ~ B98---- ..  B99----  bubble 1.0 %\n"
            "group 1: ..  F0  B0----- F1  ~ F99 B99---- ..  ..   bubble 1.0 %\n"
            "bubble 1.0 % of 303 s\n");
  for (int64_t columns = 0; columns < 60; ++columns) {
    const std::string text = draw(sequence, shape, chain_of(2), columns);
    EXPECT_LE(text.find('\n'), static_cast<size_t>(std::max<int64_t>(columns, 8) + 32)) << text;
  }
}

TEST(DrawSequence, TimesOfAllKinds) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    PipelineShape shape = pipelines()[random() % pipelines().size()];
    for (int stage = 0; stage < shape.stages(); ++stage) {
      const auto time = [&] { return random() % 4 == 0 ? 0 : std::pow(10, static_cast<double>(random() % 12) - 9); };
      shape.times.push_back({time(), time(), time()});
    }
    const Sequence sequence = make_sequence(kOrders[round % 4], shape, chain_of(shape.stages()));
    const std::string text = draw(sequence, shape, chain_of(shape.stages()));
    EXPECT_EQ(std::ranges::count(text, '\n'), shape.group_count() + 1);
  }
}

}  // namespace
}  // namespace partita
