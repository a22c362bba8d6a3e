#include "planner/pricing/layers/configuration.h"

#include <gtest/gtest.h>

#include "base/test_refusal.h"
#include "planner/pricing/search/search_configurations.h"

namespace partita {
namespace {

std::string read_refusal(const std::string& text) {
  return refusal_of([&] { parse_configuration(text); });
}

TEST(Configuration, IsReadBack) {
  const std::string all =
      "data=8,context=2,tensor=4,cuts=searched,squeeze=2,links=3,pipeline=2,sequence_parallel=true,interleave=3,"
      "micro_batch=2,"
      "order="
      "interleaved,"
      "recompute=full,zero=1";
  EXPECT_EQ(print(parse_configuration(all)), all);
  EXPECT_EQ(print(parse_configuration("zero=3,data=2")), "data=2,zero=3");
  EXPECT_EQ(print(parse_configuration("pipeline=2,deal=balanced")), "data=1,pipeline=2,deal=balanced");
  EXPECT_EQ(print(Configuration{}), "data=1");
  EXPECT_EQ(parse_configuration("tensor=4,pipeline=3,data=2").ranks(), 24);
  for (const std::string recompute :
       {"selective", "full:12", "selective:3", "full:4/2/0+selective:0/1/3", "full:2+selective:0/1"})
    EXPECT_EQ(print(parse_configuration("recompute=" + recompute).recompute), recompute);
  EXPECT_EQ(print(parse_configuration("recompute=full:4/4+selective:0").recompute), "full:4");
  EXPECT_EQ(print(parse_configuration("recompute=full:0").recompute), "none");
}

TEST(Configuration, RefusesOtherTexts) {
  EXPECT_EQ(read_refusal("date=8"),
            "[--fixed] unknown name, got 'date', expected one of data context tensor cuts squeeze links pipeline "
            "sequence_parallel interleave deal micro_batch order recompute zero, did you mean 'data'?");
  EXPECT_EQ(read_refusal("data"), "[--fixed] bad item, got 'data', expected KEY=VALUE");
  EXPECT_EQ(read_refusal("data=2,data=2"), "[--fixed] given twice, got 'data', expected it once");
  EXPECT_EQ(read_refusal("data=0"), "[--fixed data] bad number, got '0', expected a whole number from 1 to 1048576");
  EXPECT_EQ(read_refusal("data=2x"), "[--fixed data] bad number, got '2x', expected a whole number from 1 to 1048576");
  EXPECT_EQ(parse_configuration("data=1024,context=2,tensor=64,pipeline=8").ranks(), 1 << 20);
  for (const std::string sizes :
       {"data=1024,context=2,tensor=64,pipeline=9", "data=1048576,context=1048576,tensor=1048576,pipeline=16"}) {
    EXPECT_NE(read_refusal(sizes).find("[--fixed] too many ranks, got data 10"), std::string::npos);
    EXPECT_NE(read_refusal(sizes).find(", expected at most 1048576"), std::string::npos);
  }
  EXPECT_EQ(read_refusal("zero=4"), "[--fixed zero] bad number, got '4', expected a whole number from 0 to 3");
  EXPECT_EQ(read_refusal("recompute=most"),
            "[--fixed recompute] unknown name, got 'most', expected one of none selective full");
  EXPECT_EQ(read_refusal("recompute=most:2"),
            "[--fixed recompute] unknown name, got 'most', expected one of full selective");
  EXPECT_EQ(read_refusal("recompute=full:"),
            "[--fixed recompute] bad number, got '', expected a whole number from 0 to 1048576");
  EXPECT_EQ(read_refusal("recompute=full:1/x"),
            "[--fixed recompute] bad number, got 'x', expected a whole number from 0 to 1048576");
  EXPECT_EQ(read_refusal("recompute=full:1+full:2"), "[--fixed recompute] given twice, got 'full', expected it once");
  EXPECT_EQ(read_refusal("recompute=full:1/2/3+selective:1/2"),
            "[--fixed recompute] conflicting numbers of groups of stages, got 3 and 2 in 'full:1/2/3+selective:1/2', "
            "expected one");
  EXPECT_EQ(read_refusal("sequence_parallel=yes"),
            "[--fixed sequence_parallel] bad switch, got 'yes', expected true or false");
  EXPECT_EQ(refusal_of([] { parse_pins("tensor=x"); }),
            "[--pin tensor] bad number, got 'x', expected a whole number from 1 to 1048576");
}

TEST(Configuration, IsCompleted) {
  const auto made = [](const std::string& text, int64_t ranks, int64_t batch) {
    return print(completed(parse_configuration(text), ranks, batch));
  };
  EXPECT_EQ(made("data=4", 4, 32), "data=4,micro_batch=8");
  EXPECT_EQ(made("data=2,pipeline=4,interleave=2", 8, 32),
            "data=2,pipeline=4,interleave=2,micro_batch=1,order=interleaved");
  EXPECT_EQ(completed(parse_configuration("data=2,recompute=full:0"), 2, 4).recompute, RecomputedLayers());
  EXPECT_EQ(completed(parse_configuration("pipeline=3,recompute=full:2"), 3, 4).recompute.counts.size(), 3U);
  const auto refusal = [&](const std::string& text, int64_t ranks, int64_t batch) {
    return refusal_of([&] { made(text, ranks, batch); });
  };
  EXPECT_EQ(refusal("data=4", 8, 32),
            "[--fixed] wrong number of ranks, got data 4 x context 1 x tensor 1 x pipeline 1 = 4, expected 8");
  EXPECT_EQ(refusal("data=5", 5, 32),
            "[--fixed] the batch does not divide, got 32 rows for data=5, expected data=4 or 8");
  EXPECT_EQ(refusal("data=4,micro_batch=3", 4, 32),
            "[--fixed] the rows of a rank do not divide into micro-batches, got 8 rows for micro_batch=3, expected "
            "micro_batch=2 or 4");
  EXPECT_EQ(made("micro_batch=2", 1, 131072), "data=1,micro_batch=2");
  EXPECT_EQ(refusal("micro_batch=1", 1, 131072),
            "[--fixed] too many micro-batches, got 131072 of micro_batch=1, expected at most 65536");
  EXPECT_EQ(refusal("interleave=2", 1, 4), "[--fixed] interleave=2 without stages, got pipeline=1, expected 2 or more");
  EXPECT_EQ(refusal("deal=balanced", 1, 4),
            "[--fixed] deal=balanced without stages, got pipeline=1, expected 2 or more");
  EXPECT_EQ(refusal("sequence_parallel=true", 1, 4),
            "[--fixed] sequence_parallel has nothing to cut over, got tensor=1, expected 2 or more");
  EXPECT_EQ(refusal("pipeline=4,recompute=full:1/2", 4, 4),
            "[--fixed] recompute counts layers for the wrong number of groups of stages, got 2 numbers for pipeline=4, "
            "expected 1 or 4");
  EXPECT_EQ(refusal("cuts=searched", 1, 4), "[--fixed] cuts=searched without ranks, got tensor=1, expected 2 or more");
  EXPECT_EQ(refusal("tensor=2,cuts=searched,sequence_parallel=true", 2, 4),
            "[--fixed] cuts=searched also decides how the sequence is cut, got sequence_parallel=true, expected "
            "cuts=blocks, or neither");
  EXPECT_EQ(refusal("tensor=2,squeeze=3", 2, 4),
            "[--fixed] squeeze=3 has no effect, got cuts=blocks, expected cuts=searched");
  EXPECT_EQ(refusal("tensor=2,links=3", 2, 4),
            "[--fixed] links=3 without searched cuts, got cuts=blocks, expected cuts=searched, or no links");
  EXPECT_EQ(refusal("tensor=2,cuts=searched,context=2", 4, 4),
            "[--fixed] cuts=searched also decides how the sequence is cut, got context above 1, expected cuts=blocks, "
            "or neither");
}

}  // namespace
}  // namespace partita
