#include <gtest/gtest.h>

#include <limits>

#include "ir/ops/attention/attention.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

/// Returns the bucket of a key `distance` positions before the query; negative = after it.
int64_t bucket_at(int64_t distance, bool both_sides) {
  Builder builder(all_ops());
  const RelativeBucketsAttrs attrs{.both_sides = both_sides, .begin = distance};
  builder.output("y", builder.apply("relative_buckets", {}, attrs));
  return static_cast<int64_t>(interpret_all(builder.graph(), all_ops(), {}).outputs.at("y").at(0));
}

// The buckets of the published formula with 32 buckets up to 128, where a whole number of steps is not rounded down.
TEST(RelativeBuckets, AreThePublishedOnes) {
  const std::vector<std::pair<int64_t, int64_t>> both{{0, 0},   {1, 1},   {7, 7},   {8, 8},    {11, 8},   {12, 9},
                                                      {16, 10}, {32, 12}, {64, 14}, {127, 15}, {1000, 15}};
  for (const auto& [distance, bucket] : both) {
    EXPECT_EQ(bucket_at(distance, true), bucket) << distance;
    if (distance > 0) {
      EXPECT_EQ(bucket_at(-distance, true), 16 + bucket) << -distance;
    }
  }
  const std::vector<std::pair<int64_t, int64_t>> before{{0, 0},   {-1, 0},  {-50, 0},  {15, 15},  {16, 16},
                                                        {32, 21}, {64, 26}, {127, 31}, {128, 31}, {9999, 31}};
  for (const auto& [distance, bucket] : before) EXPECT_EQ(bucket_at(distance, false), bucket) << distance;
}

TEST(RelativeBuckets, BadAttributesAreRefused) {
  const auto refused = [](const RelativeBucketsAttrs& attrs) {
    Builder builder(all_ops());
    EXPECT_THROW(builder.apply("relative_buckets", {}, attrs), InvalidArgument) << Attrs(attrs).print();
  };
  refused({.buckets = 0});
  refused({.begin = std::numeric_limits<int64_t>::min()});
  refused({.buckets = 5, .both_sides = true});
  refused({.buckets = 32, .furthest = 32});
  refused({.queries = -1});
  refused({.begin = int64_t{1} << 50});
  refused({.queries = int64_t{1} << 40, .keys = int64_t{1} << 40});
}

}  // namespace
}  // namespace partita
