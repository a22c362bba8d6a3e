#include "job/norm_values.h"

#include <gtest/gtest.h>

#include "frontend/network/layers/layers.h"
#include "ir/graph/builder.h"
#include "ir/ops/norm/batch_norm.h"
#include "ir/ops/registry.h"
#include "job/program.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

Graph graph_of_norm(const Shape& shape, int64_t groups) {
  Builder builder(all_ops());
  builder.scope = "net/layer4/bn2";
  const Value x = builder.input("x", {DType::f32, shape}), channel = builder.input("w", {DType::f32, {shape[1]}});
  builder.output("y", builder.apply_all("batch_norm", {x, channel, channel}, BatchNormAttrs{.groups = groups})[0]);
  return builder.take();
}

/// Returns the message of the refusal, or "" if there is none.
std::string refusal_of_values(const Shape& shape, int64_t groups, int64_t micro_batches = 1) {
  try {
    require_several_values(graph_of_norm(shape, groups), all_ops(), micro_batches);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(NormValues, OneValuePerChannelAndGroupIsRefused) {
  for (const int64_t rows : {1, 2, 6}) {
    for (const int64_t groups : {1, 2, 3, 6}) {
      if (rows % groups != 0) continue;
      EXPECT_EQ(refusal_of_values({rows, 5}, groups).empty(), rows / groups > 1) << rows << " " << groups;
      for (const int64_t side : {1, 2}) {
        const bool one = rows / groups * side == 1;
        EXPECT_EQ(refusal_of_values({rows, 5, 1, side}, groups).empty(), !one) << rows << " " << groups << " " << side;
        EXPECT_EQ(refusal_of_values({rows, 5, side, 1}, groups).empty(), !one) << rows << " " << groups << " " << side;
      }
    }
  }
}

TEST(NormValues, TheRefusalNamesTheLayerAndWhatWouldDo) {
  EXPECT_EQ(
      refusal_of_values({8, 64, 1, 1}, 8),
      "[batch_norm] each channel has only one value, which is always normalised to 0, got f32[8,64,1,1] in 8 groups of "
      "rows in net/layer4/bn2/batch_norm, expected a batch of at least 16, fewer ranks, or --batch-norm global");
  EXPECT_EQ(refusal_of_values({8, 64}, 8, /*micro_batches=*/4),
            "[batch_norm] each channel has only one value, which is always normalised to 0, got f32[8,64] in 8 groups "
            "of rows in net/layer4/bn2/batch_norm, expected a batch of at least 16, or fewer ranks or micro-batches");
  EXPECT_EQ(refusal_of_values({1, 64}, 1),
            "[batch_norm] each channel has only one value, which is always normalised to 0, got f32[1,64] as one group "
            "of rows in net/layer4/bn2/batch_norm, expected a batch of at least 2");
}

/// Whether the program of a network with a batch norm over two features compiles.
bool is_made(ProgramRequest request, const std::string& ranks, const std::string& micro_batches) {
  JobConfig config;
  config.training.batch = request.batch;
  config.ranks.count = std::stoi(ranks);
  config.plan.options.micro_batches = std::stoll(micro_batches);
  request.ranks = config.ranks.count;
  request.columns = {{"x", {DType::f32, {2}}}, {"label", {DType::i32, {}}}};
  try {
    make_program(completed(config, Place{.cores = 1}), request);
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("[batch_norm] each channel has only one value"), std::string::npos);
    return false;
  }
  return true;
}

// Only trainings are checked: an evaluation uses the running statistics, and a program that is only priced learns
// nothing.
TEST(NormValues, ProgramsOfTrainingsHaveSeveral) {
  const Network network("net", sequential({dense(4), batch_norm(), dense(3)}));
  ProgramRequest request{.network = network, .batch = 4};
  EXPECT_TRUE(is_made(request, "1", "1"));
  EXPECT_TRUE(is_made(request, "2", "1"));
  EXPECT_FALSE(is_made(request, "4", "1"));
  EXPECT_FALSE(is_made(request, "1", "4"));
  EXPECT_FALSE(is_made(request, "2", "2"));
  request.purpose = Purpose::evaluation;
  EXPECT_TRUE(is_made(request, "4", "1"));
  request.purpose = Purpose::training;
  request.estimates = true;
  EXPECT_TRUE(is_made(request, "4", "1"));
  EXPECT_TRUE(is_made(request, "2", "2"));
}

}  // namespace
}  // namespace partita
