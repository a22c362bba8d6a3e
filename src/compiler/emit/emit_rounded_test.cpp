#include "compiler/emit/emit_rounded.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/emit/emit_collective.h"
#include "compiler/emit/rank_programs.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "support/matches.h"

namespace partita {
namespace {

/// Three weights with an odd number of elements, whose gradients have two dimensions.
constexpr std::string_view kThreeWeights = R"(partita graph 1
graph three
input %x: f32[48,7] batch=0
state %u: f32[7,16] parameter constant(0.1)
state %v: f32[16,48] parameter constant(0.2)
state %w: f32[48,5] parameter constant(0.3)
%a = matmul(%x, %u) : f32[48,16]
%b = matmul(%a, %v) : f32[48,48]
%c = matmul(%b, %w) : f32[48,5]
%loss = reduce(%c) {axes=[0,1], scale=0.01} : f32[]
output loss = %loss
)";

/// Messages of a program, per rank.
struct Sent {
  double bytes = 0;          // bytes that leave each rank, with the best algorithm
  double reduced_bytes = 0;  // a part of them: those of operations that reduce
  int operations = 0;
};

/// Counts the messages in a module.
Sent sent_by(const std::string& text) {
  Sent sent;
  for (const Match& call :
       matches_of(text, R"re("stablehlo\.(all_reduce|all_gather|reduce_scatter|all_to_all)".*)re")) {
    // The types of a reduction follow its region.
    const std::string rest = text.substr(call.position);
    const auto ways = matches_of(rest, R"(replica_groups = dense<.*> : tensor<\d+x(\d+)xi64>)");
    const auto types = matches_of(rest, R"(: \(tensor<([\dx]*)x?(f32|ui16)>)");
    if (ways.empty() || types.empty()) {
      ADD_FAILURE() << call.groups[0];
      continue;
    }
    double bytes = types[0].groups[2] == "f32" ? 4 : 2;
    const std::string shape = types[0].groups[1];
    for (size_t begin = 0; begin < shape.size(); begin = shape.find('x', begin) + 1) {
      bytes *= std::stod(shape.substr(begin));
      if (shape.find('x', begin) == std::string::npos) break;
    }
    const double n = std::stod(ways[0].groups[1]);
    const std::string& kind = call.groups[1];
    bytes *= kind == "all_reduce" ? 2 * (n - 1) / n : kind == "all_gather" ? n - 1 : (n - 1) / n;
    sent.bytes += bytes;
    if (kind == "all_reduce" || kind == "reduce_scatter") sent.reduced_bytes += bytes;
    sent.operations += 1;
  }
  return sent;
}

/// Counts the messages of a training step; none if its shards are not equal.
std::optional<Sent> sent_by_step(int64_t ranks, int level, int64_t micro_batches, std::optional<DType> reductions) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  TrainingOptions training;
  training.optimizer = {.kind = OptimizerKind::adamw};
  training.precision.reductions = reductions;
  PlanOptions plan{.parallel = Parallel::data, .micro_batches = micro_batches};
  plan.zero = {.level = level, .threshold = 0};
  const Program program = compile(parse_graph(kThreeWeights, all_ops()), all_ops(), device->catalog(),
                                  {.ranks = ranks, .plan = plan, .training = training});
  if (refusal_of_whole(program.local())) return std::nullopt;
  Sent all;
  for (const RankProgram& one :
       programs_of_rank(program.pipeline, program.stages, all_ops(), 0, CollectiveMode::whole).programs) {
    const Sent sent = sent_by(one.text);
    all.bytes += sent.bytes;
    all.reduced_bytes += sent.reduced_bytes;
    all.operations += sent.operations;
  }
  return all;
}

// All that reductions of gradients send has half the bytes, but for the padding and scalars.
TEST(EmitRounded, HalvesTheBytesOfReductions) {
  int compared = 0;
  for (const int64_t ranks : {2, 3, 4, 6, 8}) {
    for (const int level : {0, 1, 2, 3}) {
      for (const int64_t micro_batches : {1, 2}) {
        if (48 % (ranks * micro_batches) != 0) continue;
        const std::optional<Sent> in_f32 = sent_by_step(ranks, level, micro_batches, std::nullopt),
                                  in_bf16 = sent_by_step(ranks, level, micro_batches, DType::bf16);
        ASSERT_EQ(in_f32.has_value(), in_bf16.has_value());
        if (!in_f32) continue;
        ++compared;
        const Sent &whole = *in_f32, &halved = *in_bf16;
        const std::string what = fmt::format("{} ranks, level {}, {} micro-batches", ranks, level, micro_batches);
        EXPECT_GT(whole.reduced_bytes, 2000) << what;
        EXPECT_LT(halved.reduced_bytes, 100) << what << ": losses";
        const double saved = whole.bytes - halved.bytes, gradients = whole.reduced_bytes - halved.reduced_bytes;
        EXPECT_NEAR(saved, gradients / 2, 0.02 * gradients) << what;
        EXPECT_LE(halved.operations, 2 * whole.operations) << what;
      }
    }
  }
  EXPECT_GE(compared, 15);
}

TEST(EmitRounded, SumsOfABucketShareTheirMessages) {
  HloBody body;
  const std::vector<Hlo> operands{{"%a", {DType::f32, {3, 5}}}, {"%b", {DType::f32, {}}}, {"%c", {DType::f32, {7}}}};
  const ReplicaGroups groups{"replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>", 4};
  const std::vector<Hlo> sums = emit_rounded_all_reduce(body, groups, DType::bf16, operands);
  ASSERT_EQ(sums.size(), 3u);
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i].type, operands[i].type);
  const Sent sent = sent_by(body.text());
  EXPECT_EQ(sent.operations, 2);
  EXPECT_EQ(sent.bytes, 3.0 / 4 * 24 * 2 + 3 * 6 * 2) << "23 elements and one of padding, then the sums of 6";
}

TEST(EmitRounded, ManyRanksAreOneReduction) {
  HloBody body;
  const ReplicaGroups groups{"replica_groups = dense<..> : tensor<1x512xi64>", 512};
  const Type type{DType::f32, {4, 1024}};
  EXPECT_EQ(emit_rounded_reduce_scatter(body, groups, DType::bf16, {"%a", type}, 1, {DType::f32, {4, 2}}).type.shape,
            (Shape{4, 2}));
  EXPECT_NE(body.text().find("stablehlo.reduce("), std::string::npos) << body.text();
  EXPECT_LT(std::count(body.text().begin(), body.text().end(), '\n'), 12);
}

}  // namespace
}  // namespace partita
