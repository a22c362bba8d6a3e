// Distances of keys from queries in a few buckets (Raffel et al., 2020, "Exploring the limits of transfer learning with
// a unified text-to-text transformer", section 2.1): near ones singly, others by their logarithm.

#include <cmath>

#include "ir/ops/attention/attention.h"
#include "ir/ops/sizes.h"

namespace partita {
namespace {

constexpr int64_t kFarthest = int64_t{1} << 40;

/// Returns the bucket, in [0, buckets), of a key that is `distance` positions, at least 0, before the query.
int64_t bucket_of_distance(int64_t distance, int64_t buckets, int64_t furthest) {
  const int64_t near = std::max<int64_t>(1, buckets / 2), far = buckets - near;
  if (distance < near || far == 0) return std::min(distance, buckets - 1);
  const double scale = std::log(static_cast<double>(furthest) / static_cast<double>(near));
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(near)) / scale;
  // Powers of the ratio give whole numbers, which rounding may miss.
  const double steps = std::min(share * static_cast<double>(far) + 1e-9, static_cast<double>(far - 1));
  return near + static_cast<int64_t>(steps);
}

int64_t relative_bucket(const RelativeBucketsAttrs& attrs, int64_t distance) {
  if (!attrs.both_sides) return bucket_of_distance(std::max<int64_t>(0, distance), attrs.buckets, attrs.furthest);
  const int64_t half = attrs.buckets / 2;
  return (distance < 0 ? half : 0) + bucket_of_distance(std::abs(distance), half, attrs.furthest);
}

std::vector<Type> infer_relative_buckets(const OpCall& call) {
  require_operands("relative_buckets", call, 0);
  const auto& attrs = call.attrs.as<RelativeBucketsAttrs>();
  const int64_t least = attrs.both_sides ? 2 : 1;
  const bool even = !attrs.both_sides || attrs.buckets % 2 == 0;
  const bool counted = attrs.buckets >= least && even && attrs.buckets <= 1 << 20;
  const bool placed = attrs.begin >= -kFarthest && attrs.begin <= kFarthest && attrs.furthest <= kFarthest;
  if (!counted || !placed || attrs.furthest <= attrs.buckets) {
    reject("relative_buckets", "bad attributes", call.attrs.print(),
           "1 bucket or more, an even number of both sides, and a furthest distance above it");
  }
  const Shape shape{attrs.queries, attrs.keys};
  require_shape("relative_buckets", shape);
  return {Type{DType::i32, shape}};
}

}  // namespace

std::vector<OpDef> relative_buckets_ops() {
  OpDef op;
  op.name = "relative_buckets";
  op.summary = "the class of the distance of each key from each query: [queries, keys]";
  op.attrs = Attrs(RelativeBucketsAttrs{});
  op.infer = infer_relative_buckets;
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.localize = [](const Attrs& given, const Shard& shard) {
    auto attrs = given.as<RelativeBucketsAttrs>();
    const Range &queries = shard.outputs[0][0], &keys = shard.outputs[0][1];
    attrs.begin += queries.begin - keys.begin;
    attrs.queries = queries.count();
    attrs.keys = keys.count();
    return Attrs(attrs);
  };
  op.grad = [](const GradCall&) { return std::vector<Value>{}; };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& given, Inputs, Outputs out) {
    const auto& attrs = given.as<RelativeBucketsAttrs>();
    auto* y = out[0].as<int32_t>();
    for (int64_t q = 0; q < attrs.queries; ++q) {
      for (int64_t k = 0; k < attrs.keys; ++k) {
        *y++ = static_cast<int32_t>(relative_bucket(attrs, attrs.begin + q - k));
      }
    }
  };
  using A = RelativeBucketsAttrs;
  op.samples = {{{}, Attrs(A{.queries = 6, .keys = 5, .buckets = 8, .furthest = 9})},
                {{}, Attrs(A{.queries = 4, .keys = 6, .buckets = 4, .furthest = 7, .both_sides = true})},
                {{}, Attrs(A{.queries = 3, .keys = 4, .buckets = 6, .furthest = 20, .both_sides = true, .begin = 5})}};
  return {op};
}

}  // namespace partita
