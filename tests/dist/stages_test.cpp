// A pipeline of stages takes the step of one rank: every model, order and number of micro-batches.

#include <gtest/gtest.h>

#include <map>

#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

struct StagesCase {
  std::string spec;
  Shape image;
  int64_t batch;
  bool has_statistics_groups = false;
};

const std::vector<StagesCase>& stages_cases() {
  static const std::vector<StagesCase> all{
      {"mlp:hidden=12,dropout=0.2", {1, 6, 5}, 24},
      {"lenet:dropout=0.2", {1, 28, 28}, 24},
      {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, 24},
      {"resnet18:width=4,size=8", {3, 8, 8}, 72, true},
  };
  return all;
}

Job stages_job(const StagesCase& one, int64_t groups) {
  return model_job(one.spec, {.image = one.image, .batch = one.batch, .steps = 3, .statistics_groups = groups});
}

TEST(Stages, AreOneRank) {
  for (const StagesCase& one : stages_cases()) {
    std::map<int64_t, JobResult> oracles;  // by groups
    for (const int64_t micro_batches : {1, 2, 4}) {
      const int64_t groups = one.has_statistics_groups ? micro_batches : 1;
      Job job = stages_job(one, groups);
      if (!oracles.contains(groups)) oracles.emplace(groups, interpret_job(job));
      const JobResult& oracle = oracles.at(groups);
      for (const auto& [stages, ranks] : {std::pair{2, 2}, {3, 3}, {2, 4}, {2, 3}}) {
        if (!can_run(ranks)) continue;
        if (one.has_statistics_groups && ranks != stages) continue;
        job.ranks = ranks;
        job.micro_batches = micro_batches;
        for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::zero_bubble}) {
          if (micro_batches == 1 && order != Order::gpipe) continue;  // one micro-batch has one order
          job.pipeline = {.stages = stages, .order = order};
          const std::string what = fmt::format("{}, {} stages on {} ranks, {} micro-batches, {}", one.spec, stages,
                                               ranks, micro_batches, name_of(order));
          SCOPED_TRACE(what);
          expect_same_training(run_job(job), oracle, 1e-9, what);
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
