#include "ir/sharding/rule.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/op_call.h"
#include "ir/sharding/test_call.h"

namespace partita {
namespace {

TEST(Chunk, PartsAreContiguousAndDifferByOneAtMost) {
  for (int64_t size = 0; size <= 40; ++size) {
    for (int64_t n = 1; n <= 12; ++n) {
      int64_t at = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Range part = chunk(size, i, n);
        EXPECT_EQ(part.begin, at);
        EXPECT_TRUE(part.count() == size / n || part.count() == (size + n - 1) / n);
        at = part.end;
      }
      EXPECT_EQ(at, size);
    }
  }
}

TEST(Chunk, TheLargestSizesDoNotOverflow) {
  for (const int64_t size : {std::numeric_limits<int64_t>::max(), (int64_t{1} << 62) + 5, (int64_t{1} << 44) - 1}) {
    for (const int64_t n : {2, 3, 1000, 1 << 20}) {
      EXPECT_EQ(chunk(size, 0, n).begin, 0);
      EXPECT_EQ(chunk(size, n - 1, n).end, size);
      int64_t before = 0;
      for (const int64_t i : {int64_t{1}, n / 2, n - 1}) {
        const Range part = chunk(size, i, n);
        EXPECT_TRUE(part.count() == size / n || part.count() == size / n + 1) << size << " in " << n;
        EXPECT_EQ(part.begin, chunk(size, i - 1, n).end);
        EXPECT_GE(part.begin, before);
        before = part.begin;
      }
    }
  }
}

TEST(Chunk, ACutByTwoAxesRefinesACutByTheFirst) {
  for (int64_t size = 1; size <= 128; ++size) {
    for (int64_t a = 1; a <= 8; ++a) {
      for (int64_t b = 1; a * b <= size && b <= 8; ++b) {
        for (int64_t i = 0; i < a; ++i) {
          EXPECT_EQ(chunk(size, i, a).begin, chunk(size, i * b, a * b).begin);
        }
      }
    }
  }
}

TEST(Need, ForwardWindows) {
  const Window strided{.stride = 2, .dilation = 1, .size = 3, .pad = 1};
  EXPECT_EQ(required_range(strided, {0, 2, 4}, 7), (Range{0, 4, 7}));
  EXPECT_EQ(required_range(strided, {2, 4, 4}, 7), (Range{3, 7, 7}));
  const Window wide{.stride = 1, .dilation = 1, .size = 5, .pad = 2};
  EXPECT_EQ(required_range(wide, {2, 3, 6}, 6), (Range{0, 5, 6}));
  EXPECT_EQ(required_range(wide, {0, 6, 6}, 6), (Range{0, 6, 6}));
  // The whole keeps the last row, which no window reaches.
  EXPECT_EQ(required_range({.stride = 2}, {0, 3, 3}, 6), (Range{0, 6, 6}));
}

TEST(Need, HoldsEveryRowThatATapReaches) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t dilation : {1, 2}) {
      for (int64_t taps : {1, 2, 3}) {
        for (int64_t pad : {0, 1}) {
          const int64_t dim = 9, out = (dim + 2 * pad - (taps - 1) * dilation - 1) / stride + 1;
          const Window window{stride, dilation, taps, pad};
          for (int64_t i = 0; i < 2; ++i) {
            const Range part = chunk(out, i, 2);
            int64_t least = dim, most = -1;
            for (int64_t o = part.begin; o < part.end; ++o) {
              for (int64_t tap = 0; tap < taps; ++tap) {
                const int64_t row = o * stride - pad + tap * dilation;
                if (row < 0 || row >= dim) continue;
                least = std::min(least, row);
                most = std::max(most, row);
              }
            }
            const Range required = required_range(window, part, dim);
            EXPECT_LE(required.begin, least);
            EXPECT_GE(required.end, most + 1);
            EXPECT_LE(required.count(), (part.count() - 1) * stride + (taps - 1) * dilation + 1);
          }
        }
      }
    }
  }
}

TEST(Need, TransposedWindowsHoldEveryOutputThatReachesTheInput) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t taps : {1, 3}) {
      const int64_t input = 8, pad = taps / 2, dim = (input + 2 * pad - taps) / stride + 1;
      const Window window{stride, 1, taps, pad, true};
      for (int64_t i = 0; i < 4; ++i) {
        const Range part = chunk(input, i, 4);
        const Range required = required_range(window, part, dim);
        for (int64_t o = 0; o < dim; ++o) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t row = o * stride - pad + tap;
            if (row < part.begin || row >= part.end) continue;
            EXPECT_LE(required.begin, o);
            EXPECT_GT(required.end, o);
          }
        }
        EXPECT_GE(pad + part.begin - required.begin * stride, 0) << "a local pad is never negative";
      }
    }
  }
}

TEST(Einsum, ModifiersAndSizes) {
  const TestCall call{{}, {f64({10, 4}), {DType::i32, {6}}}, {f64({6, 4})}};
  const ShardingRule rule = einsum("vz,a->az | v:lookup", call.call());
  EXPECT_EQ(print(rule), "vz,a->az | v=10:lookup z=4 a=6");
  EXPECT_EQ(verify(rule, call.call(), false), "");
  EXPECT_EQ(rule.factors[0].reduce, Reduce::sum);
  EXPECT_FALSE(rule.factors[0].contributes_flops);
}

TEST(Einsum, ALetterMissingFromAnOutputIsSummedUnlessMarked) {
  const TestCall call{{}, {f64({3, 5})}, {f64({5})}};
  EXPECT_EQ(einsum("ab->b", call.call()).factors[0].reduce, Reduce::sum);
  EXPECT_EQ(print(einsum("ab->b | a:max", call.call())), "ab->b | a=3:max b=5");
  EXPECT_EQ(einsum("ab->b", call.call()).factors[1].reduce, Reduce::none);
}

TEST(Einsum, CompoundsAndWindows) {
  const TestCall call{{}, {f64({2, 6, 7, 8}), f64({4, 3, 3, 3})}, {f64({2, 4, 4, 4})}};
  const Window window{.stride = 2, .dilation = 1, .size = 3, .pad = 1};
  const ShardingRule rule =
      einsum("n(gc)[h][w],(go)cpq->n(go)hw | p:whole q:whole", call.call(), {{'g', 2}}, {window, window});
  EXPECT_EQ(print(rule), "n(gc)[h][w],(go)cpq->n(go)hw | n=2 g=2 c=3 h=4 w=4 o=2 p=3:whole q=3:whole");
  EXPECT_EQ(verify(rule, call.call(), false), "");
}

TEST(Einsum, LeadingBatchDimensionsAreInvented) {
  const TestCall call{{}, {f64({2, 3, 4, 5}), f64({2, 3, 5, 6})}, {f64({2, 3, 4, 6})}};
  EXPECT_EQ(print(einsum("..ik,..kj->..ij", call.call())), "ABik,ABkj->ABij | A=2 B=3 i=4 k=5 j=6");
  const TestCall plain{{}, {f64({4, 5}), f64({5, 6})}, {f64({4, 6})}};
  EXPECT_EQ(print(einsum("..ik,..kj->..ij", plain.call())), "ik,kj->ij | i=4 k=5 j=6");
}

TEST(Einsum, ScalarsAndNoOperands) {
  const TestCall call{{}, {f64({}), f64({3})}, {f64({3})}};
  EXPECT_EQ(print(einsum(",a->a", call.call())), ",a->a | a=3");
  const TestCall none{{}, {}, {f64({3, 1})}};
  EXPECT_EQ(print(einsum("->a1", none.call())), "->a1 | a=3");
}

TEST(Einsum, MistakesAreOurs) {
  const TestCall call{{}, {f64({3, 4})}, {f64({4, 4})}};
  EXPECT_THROW(einsum("ab->ba", call.call()), InternalError);    // a is 3 and 4
  EXPECT_THROW(einsum("abc->ab", call.call()), InternalError);   // rank
  EXPECT_THROW(einsum("ab,c->ab", call.call()), InternalError);  // operands
  EXPECT_THROW(einsum("ab ab", call.call()), InternalError);     // arrow
  EXPECT_THROW(einsum("(ac)b->bb | z:sum", call.call()), InternalError);
  EXPECT_THROW(einsum("[a]b->bb", call.call()), InternalError);   // no window
  EXPECT_THROW(einsum("(ac)b->bb", call.call()), InternalError);  // two unknowns
}

TEST(Pointwise, BroadcastDimensionsHaveNoFactor) {
  const TestCall call{{}, {f64({2, 1, 4}), f64({3, 1})}, {f64({2, 3, 4})}};
  EXPECT_EQ(print(pointwise_rule(call.call())), "a1c,b1->abc | a=2 b=3 c=4");
  const TestCall ones{{}, {f64({1, 4}), f64({4})}, {f64({1, 4}), f64({1, 4})}};
  EXPECT_EQ(print(pointwise_rule(ones.call())), "1a,a->1a,1a | a=4");
}

TEST(Reshape, CommonRefinement) {
  const auto text = [](const Shape& from, const Shape& to) {
    std::string line = print(reshape_rule(from, to));
    for (size_t at; (at = line.find(":no_flops")) != std::string::npos;) line.erase(at, 9);
    return line;
  };
  EXPECT_EQ(text({2, 3, 8}, {2, 3, 4, 2}), "ab(cd)->abcd | a=2 b=3 c=4 d=2");
  EXPECT_EQ(text({2, 3, 4, 2}, {6, 8}), "abcd->(ab)(cd) | a=2 b=3 c=4 d=2");
  EXPECT_EQ(text({6, 2}, {4, 3}), "(ab)e->(ac)d | a=2 b=3:whole c=2:whole d=3:whole e=2:whole");
  EXPECT_EQ(text({4, 3}, {3, 4}), "ad->bc | a=4:whole b=3:whole c=4:whole d=3:whole");
  EXPECT_EQ(text({4, 3, 5}, {3, 4, 5}), "ade->bce | a=4:whole b=3:whole c=4:whole d=3:whole e=5");
  EXPECT_EQ(text({1, 6, 1}, {6}), "1a1->a | a=6");
  EXPECT_EQ(text({1}, {}), "1->");
  EXPECT_EQ(text({0, 3}, {3, 0}), "ab->cd | a=0:whole b=3:whole c=3:whole d=0:whole");
}

TEST(Reshape, EveryPairOfShapesOfSixtyElementsVerifies) {
  const std::vector<Shape> shapes{{60},      {2, 30}, {30, 2}, {4, 15},    {15, 4},      {3, 4, 5},
                                  {5, 4, 3}, {6, 10}, {10, 6}, {1, 12, 5}, {2, 2, 3, 5}, {5, 3, 2, 2}};
  for (const Shape& from : shapes) {
    for (const Shape& to : shapes) {
      const TestCall call{{}, {f64(from)}, {f64(to)}};
      EXPECT_EQ(verify(reshape_rule(from, to), call.call(), false), "") << print(from) << print(to);
    }
  }
}

TEST(Reshape, EveryFactorHasALetter) {
  // The maximum number of factors: 6 and 10 share 2, and the remainders are coprime.
  Shape from, to;
  for (int d = 0; d < kMaxDims; ++d) {
    from.push_back(d % 2 == 0 ? 6 : 10);
    to.push_back(d % 2 == 0 ? 10 : 6);
  }
  const ShardingRule rule = reshape_rule(from, to);
  EXPECT_EQ(rule.factors.size(), 50);
  std::set<char> names;
  for (const Factor& factor : rule.factors) EXPECT_TRUE(names.insert(factor.name).second) << factor.name;
  const Shape ones(kMaxDims, 2);
  const TestCall call{{}, {f64(ones)}, {f64(ones)}};
  EXPECT_EQ(einsum("..z->..z", call.call()).factors.size(), size_t{kMaxDims});
}

TEST(Verify, NamesWhatIsWrong) {
  const TestCall call{{}, {f64({3, 4})}, {f64({4})}};
  const ShardingRule good = einsum("ab->b", call.call());
  EXPECT_EQ(verify(good, call.call(), false), "");
  const auto wrong = [&](auto&& change) {
    ShardingRule rule = good;
    change(rule);
    return verify(rule, call.call(), false);
  };
  EXPECT_EQ(wrong([](ShardingRule& r) { r.factors[0].reduce = Reduce::none; }),
            "factor a is missing from an output and has no reduction");
  EXPECT_EQ(wrong([](ShardingRule& r) { r.factors[1].size = 5; }),
            "operand 0 dimension 1 has factors of 5, expected 4");
  EXPECT_EQ(wrong([](ShardingRule& r) { r.inputs.emplace_back(); }), "2 operands, expected 1");
  EXPECT_EQ(wrong([](ShardingRule& r) { r.linear_in({1}); }), "a linear group names operand 1, which is not there");
  EXPECT_EQ(wrong([](ShardingRule& r) { r.linear_in({0}).linear_in({0}); }), "operand 0 is in two linear groups");
  EXPECT_EQ(wrong([](ShardingRule& r) { r.factors[1].cutting = Cutting::expand; }),
            "a factor is to be expanded and the op has no expansion");
}

}  // namespace
}  // namespace partita
