// Rows of steps: a training whose accelerator gets them ahead is that of one which does not, bit by bit.

#include "training/step_rows.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "frontend/data/dataset.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/needs_plugin.h"
#include "support/ranks.h"

namespace partita {
namespace {

class StepRowsAhead : public NeedsPlugin {};

/// Images and labels that depend on the row and the epoch.
class Numbered final : public Dataset {
 public:
  explicit Numbered(int64_t rows) : rows_(rows) {}
  int64_t size() const override { return rows_; }
  const std::vector<Column>& columns() const override { return columns_; }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<uint64_t>(epoch * rows_ + indices[i]);
      double* image = out[0].as<double>() + i * 30;
      for (uint64_t k = 0; k < 30; ++k) image[k] = random_normal(row, k, 0);
      out[1].as<int32_t>()[i] = static_cast<int32_t>(random_below(row, 1, 1, 10));
    }
  }

 private:
  const int64_t rows_;
  const std::vector<Column> columns_{{"image", {DType::f64, {1, 6, 5}}}, {"label", {DType::i32, {}}}};
};

/// Returns the losses of 12 steps, the epoch of which has 5, on some ranks; -1 for a step whose loss is not finite.
std::vector<double> losses_of(Job job, bool ahead, int64_t& copied_ahead) {
  const Program program = compile_job(job);
  States states = job.states;
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.values[state.entry].name;
    if (!states.contains(name)) states.emplace(name, Array(program.graph.type(state.entry)));
  }
  std::vector<double> losses;
  on_ranks(job.ranks, [&](Communicator& world) {
    RankRun rank(program, states, {.device = job.device_name}, world);
    EXPECT_EQ(rank.devices()->platform, "cpu");
    StepRows rows(rank, rank.rows(std::make_shared<Numbered>(12 * 5), 12), {}, ahead);
    for (int step = 0; step < 12; ++step) {
      const bool was_there = rows.feed(nullptr);
      if (world.rank() == 0 && was_there) ++copied_ahead;
      rank.feed_learning_rate(0.1);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // rows are read in that time
      const std::function<void()> next = rows.feeds_next(nullptr);
      const bool is_bad = rank.executor().try_step(next).has_value();
      if (world.rank() == 0) losses.push_back(is_bad ? -1 : rank.executor().output("loss").at(0));
    }
  });
  return losses;
}

TEST_F(StepRowsAhead, TrainAsOthers) {
  for (const auto& [ranks, micro_batches] : {std::pair{1, 1}, {2, 1}, {3, 1}, {2, 2}}) {
    if (!can_run(ranks) || ranks_are_processes()) continue;
    Job job = model_job("mlp:hidden=12", {.image = {1, 6, 5}, .batch = 12});
    job.device_name = "xla:cpu";
    job.ranks = ranks;
    job.micro_batches = micro_batches;
    int64_t none = 0, some = 0;
    const std::vector<double> plain = losses_of(job, false, none), ahead = losses_of(job, true, some);
    EXPECT_EQ(plain, ahead) << ranks << " ranks";
    EXPECT_EQ(none, 0);
    if (micro_batches == 1) {
      EXPECT_GT(some, 0) << ranks << " ranks";
    } else {
      EXPECT_EQ(some, 0) << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace partita
