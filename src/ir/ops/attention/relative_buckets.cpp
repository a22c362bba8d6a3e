// Distances of keys from queries in a few buckets (Raffel et al., 2020, "Exploring the limits of transfer learning with
// a unified text-to-text transformer", section 2.1): near ones singly, others by their logarithm.

#include <cmath>

#include "ir/ops/attention/attention.h"
#include "ir/ops/emission.h"
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

/// Returns the smallest distance whose bucket is `bucket` or a later one, where `furthest` is in the last one.
int64_t first_in_bucket(int64_t bucket, int64_t buckets, int64_t furthest) {
  int64_t before = 0, found = furthest;
  while (found - before > 1) {
    const int64_t middle = before + (found - before) / 2;
    (bucket_of_distance(middle, buckets, furthest) >= bucket ? found : before) = middle;
  }
  return found;
}

/// Counts the far buckets that begin up to each distance: their beginnings are constants, so that no logarithm decides.
std::vector<Hlo> emit_relative_buckets(const EmitCall& call) {
  const auto& attrs = call.attrs.as<RelativeBucketsAttrs>();
  const Type& result = call.outputs[0];
  const Type type{DType::i64, result.shape};
  const Traced query(call, hlo_iota(call, 0, type)), key(call, hlo_iota(call, 1, type));
  const Traced distance = query - key + Traced(call, call.begin(attrs.begin, type));
  const Traced size = attrs.both_sides ? abs_of(distance) : max_of(distance, 0);
  const int64_t buckets = attrs.both_sides ? attrs.buckets / 2 : attrs.buckets,
                near = std::max<int64_t>(1, buckets / 2);
  Traced bucket = min_of(size, static_cast<double>(std::min(near, buckets - 1)));
  std::vector<int64_t> beginnings;
  for (int64_t far = near + 1; far < buckets; ++far) {
    beginnings.push_back(first_in_bucket(far, buckets, attrs.furthest));
  }
  if (!beginnings.empty()) {
    const Shape shape{result.shape[0], result.shape[1], static_cast<int64_t>(beginnings.size())};
    const Hlo reached = call.compare("GE", call.broadcast_in(size.as(call, type), {0, 1}, shape),
                                     call.broadcast_in(hlo_list(call, beginnings), {2}, shape));
    const Hlo zero = call.splat_integer(0, {DType::i64, {}});
    bucket += Traced(call, call.reduce(call.convert(reached, DType::i64), "add", zero, {2}));
  }
  if (attrs.both_sides) bucket += select_of(distance < 0, Traced(call, call.splat_integer(buckets, type)), 0);
  return {call.convert(bucket.as(call, type), result.dtype)};
}

std::vector<Type> infer_relative_buckets(const OpCall& call) {
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
  OpDef op = new_op("relative_buckets", "the class of the distance of each key from each query: [queries, keys]",
                    {.count = 0}, RelativeBucketsAttrs{});
  op.infer = infer_relative_buckets;
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.localize = localized<RelativeBucketsAttrs>([](RelativeBucketsAttrs& attrs, const Shard& shard) {
    const Range &queries = shard.outputs[0][0], &keys = shard.outputs[0][1];
    attrs.begin += queries.begin - keys.begin;
    attrs.queries = queries.count();
    attrs.keys = keys.count();
  });
  op.grad = no_gradients;
  op.emit = emit_relative_buckets;
  op.traits.take_place = takes_begin(&RelativeBucketsAttrs::queries, &RelativeBucketsAttrs::keys);
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
