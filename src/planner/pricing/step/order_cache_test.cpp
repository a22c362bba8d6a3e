#include "planner/pricing/step/order_cache.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/orders/simulate.h"
#include "planner/pricing/search/test_pricing.h"

namespace partita {
namespace {

TEST(OrderCache, AreThoseOfTheTimes) {
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble}) {
    OrderCache cache;
    std::mt19937 draw(1);
    const auto below = [&](int64_t most) { return static_cast<int64_t>(draw() % static_cast<uint64_t>(most)); };
    for (int round = 0; round < 60; ++round) {
      const int64_t groups = 1 + below(6), chunks = 1 + below(3);
      PipelineShape shape{.micro_batches = 1 + below(12)};
      for (int64_t s = 0; s < groups * chunks; ++s) {
        shape.groups.push_back(static_cast<int>(s % groups));
        shape.times.push_back({0.1 + static_cast<double>(below(9)), 0.1 + static_cast<double>(below(9)), 0.5});
      }
      const Order own = shape.stages() == 1 ? Order::one_forward_one_backward : order;
      const Sequence made = make_sequence(own, shape, chain_of(shape.stages()));
      EXPECT_EQ(queues_of(cache.of(order, shape), shape), queues_of(made, shape)) << name_of(order) << " " << round;
      EXPECT_EQ(&cache.of(order, shape), &cache.of(order, shape));
    }
  }
}

/// The lower bound of memory, which needs no order, is at most the memory of the order. It is exact in 1f1b and in
/// whole rounds.
TEST(StagePrices, LeastMemoryIsWithinThatOfTheOrder) {
  const Priced priced(forward_of_model("gpt:layers=24,hidden=64,heads=4,seq=32,vocab=100", 48), "a100-80");
  for (const int64_t pipeline : {2, 3, 4, 6, 8}) {
    for (const int64_t chunks : {1, 2, 3, 4}) {
      if (24 % (pipeline * chunks) != 0) continue;
      for (const int64_t rows : {1, 2, 3, 6, 12, 48}) {
        for (const Order order :
             {Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble, Order::gpipe}) {
          const Configuration configuration{
              .data = 1, .pipeline = pipeline, .interleave = chunks, .micro_batch = rows, .order = order};
          StagePrices& stages = priced.costs->stages(configuration);
          const double least = stages.min_memory(0), most = peak_of(stages.memory(0));
          SCOPED_TRACE(print(configuration));
          EXPECT_LE(least, most * (1 + 1e-12));
          const bool is_1f1b = chunks == 1 && order != Order::zero_bubble && order != Order::gpipe;
          const bool is_exact = is_1f1b || (order == Order::interleaved && 48 / rows % pipeline == 0);
          if (is_exact) {
            EXPECT_NEAR(least / most, 1, is_1f1b ? 1e-12 : 0.02);
          }
        }
      }
    }
  }
}

TEST(NetworkCosts, RememberWhatWasRefused) {
  const Priced priced(forward_of_model("mlp", 48), "a100-80");
  std::string first;
  for (int time = 0; time < 2; ++time) {
    try {
      priced.price("tensor=2");
      FAIL();
    } catch (const InvalidArgument& error) {
      if (time == 0) first = error.what();
      EXPECT_EQ(first, error.what());
    }
  }
  EXPECT_NE(first.find("nothing to cut"), std::string::npos) << first;
}

}  // namespace
}  // namespace partita
