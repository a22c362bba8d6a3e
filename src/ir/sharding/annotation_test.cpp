#include "ir/sharding/annotation.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_refusal.h"

namespace partita {
namespace {

TEST(ShardingAnnotation, StrategiesPrintAndRead) {
  const Strategy strategy{{2, 4}, {4, 1}, {}, {3}};
  EXPECT_EQ(print(strategy), "((2, 4), (4, 1), (), (3))");
  EXPECT_EQ(parse_strategy(print(strategy)), strategy);
  EXPECT_EQ(parse_strategy("( (2,4,) ,(4,1),)"), (Strategy{{2, 4}, {4, 1}}));
  EXPECT_EQ(parse_strategy("()"), Strategy{});
  for (const char* text : {"", "((2,4)", "((2,4),(4,1)) x", "((2 4))", "((0,1))", "((-1))", "(2,4)", "((2,,4))"}) {
    try {
      parse_strategy(text);
      ADD_FAILURE() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("[strategy] cannot be read at position "), std::string::npos);
    }
  }
}

TEST(ShardingAnnotation, PrintsAndReads) {
  for (const char* text :
       {"((2,4),(4,1))", "((2,4),(4,1))->((8,1))", "((),(3))", "[dp=2,mp=4]((dp,mp),(mp,None))",
        "[dp=2,sp=2,mp=2]((dp,sp+mp),(sp+mp,None))->((dp+mp,None))", "[a=2,b=2,ranks=(0,2,1,3)]((a,b))"}) {
    EXPECT_EQ(print(parse_annotation(text)), text);
  }
  const ShardingAnnotation annotation = parse_annotation("[dp=2, sp=2, mp=3] ((dp, sp+mp), (None, None))");
  EXPECT_EQ(annotation.inputs, (Strategy{{2, 6}, {1, 1}}));
  EXPECT_EQ(parse_annotation("[a=2,ranks=(0,1)]((a))"), parse_annotation("[a=2]((a))"));
  const ShardLayout layout({2, 2, 3}, {"dp", "sp", "mp"});
  EXPECT_EQ(annotation, annotation_of({layout({"dp", "sp+mp"}), layout({"None", "None"})}, {}));
}

TEST(ShardingAnnotation, RefusesBadLayouts) {
  EXPECT_EQ(refusal_of([] {
              ShardLayout({2, 4}, {"dp"});
            }),
            "[layout] sizes and names differ in number, got 2 sizes and 1 names, expected as many, and at least one");
  std::string many = "a0=1";
  for (int i = 1; i < 50'000; ++i) many += fmt::format(",a{}=1", i);
  EXPECT_EQ(refusal_of([&] { parse_annotation("[" + many + "]((a0))"); }),
            "[layout] too many axes, got 50000, expected at most 64");
  EXPECT_NE(refusal_of([] { ShardLayout({2, 4}, {"dp", "dp"}); }).find("two axes have one name"), std::string::npos);
  EXPECT_NE(refusal_of([] { ShardLayout({0}, {"dp"}); }).find("bad size of axis dp, got 0"), std::string::npos);
  EXPECT_NE(refusal_of([] { ShardLayout({1 << 20, 2}, {"dp", "mp"}); }).find("too many ranks"), std::string::npos);
  EXPECT_NE(refusal_of([] { parse_annotation("((99999999999))"); }).find("1 to 2^20"), std::string::npos);
  EXPECT_EQ(refusal_of([] {
              ShardLayout({2, 2}, {"a", "b"}, {0, 1, 1, 2});
            }),
            "[layout] bad list of ranks, got rank 1 twice, expected each of 0 to 3 once");
  EXPECT_NE(refusal_of([] { parse_annotation("[a=2,ranks=(0,2)]((a))"); }).find("got rank 2, expected"),
            std::string::npos);
  for (const char* text : {"[a=2,ranks=()]((a))", "[a=2,ranks=2]((a))", "[a=2,ranks=(0 1)]((a))", "[a=2,ranks=(-1)]"}) {
    EXPECT_NE(refusal_of([&] { parse_annotation(text); }).find("[strategy] cannot be read at position"),
              std::string::npos);
  }
  EXPECT_NE(refusal_of([] { ShardLayout({2}, {"ranks"}); }).find("bad name of an axis"), std::string::npos);
  EXPECT_NE(refusal_of([] { parse_annotation("[a=2,ranks=(0)]((a))"); }).find("got 1 ranks, expected"),
            std::string::npos);
  EXPECT_NE(refusal_of([] { ShardLayout({2}, {"None"}); }).find("bad name of an axis"), std::string::npos);
  const ShardLayout layout({2, 4}, {"dp", "mp"});
  EXPECT_NE(
      refusal_of([&] { layout({"pd"}); }).find("[layout] unknown axis, got 'pd', expected one of [dp, mp] or None"),
      std::string::npos);
  EXPECT_NE(refusal_of([&] { layout({"dp", "dp"}); }).find("an axis cuts one tensor twice"), std::string::npos);
  const ShardLayout other({8}, {"dp"});
  EXPECT_NE(refusal_of([&] {
              annotation_of({layout({"dp"}), other({"dp"})}, {});
            }).find("an annotation mixes layouts"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { annotation_of({}, {}); }).find("an annotation without layouts"), std::string::npos);
  for (const char* text : {"[dp=2((dp))", "[dp=2]((xp))", "[=2]((dp))", "((2))->", "[dp=2]((dp+dp))", "[dp]((dp))"}) {
    EXPECT_NE(refusal_of([&] { parse_annotation(text); }), "accepted") << text;
  }
}

}  // namespace
}  // namespace partita
