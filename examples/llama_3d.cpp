// A Llama on eight ranks, cut in three ways: its layers over two pipeline stages of four micro-batches, the batch over
// two ranks of a stage, with the states of the optimizer divided among them, and the products of each block over two
// (Shoeybi et al., 2019) with the sequence between them (Korthikanti et al., 2022). The losses are those of one rank.

#include <partita/data.h>
#include <partita/model.h>
#include <partita/zoo.h>

#include <cmath>
#include <iostream>

using namespace partita;

namespace {

class Losses : public Callback {
 public:
  void on_step_end(const StepInfo& step) override { all.push_back(step.loss); }
  std::vector<double> all;
};

std::vector<double> train(int ranks) {
  const ZooModel llama = make_model("llama:layers=2,hidden=64,heads=8,kv_heads=4,seq=32");
  JobConfig config = llama.recipe;
  config.training = {.batch = 8, .dtype = DType::f64};
  config.ranks.count = ranks;
  if (ranks > 1) {
    config.plan.options = {.parallel = Parallel::automatic,
                           .micro_batches = 4,
                           .zero = {.level = 1, .threshold = 0},
                           .pipeline = {.stages = 2},
                           .blocks = {.tensor = 2, .sequence = true}};
  }
  Model model(llama.network(Loss::sparse), config);
  Losses losses;
  model.train(make_synthetic_text(/*rows=*/64, {.tokens = 32}, /*seed=*/1, Split::train),
              {.callbacks = {&losses}, .prints = false});
  return losses.all;
}

}  // namespace

int main() {
  const std::vector<double> one = train(1), eight = train(8);
  double worst = 0;
  for (size_t step = 0; step < one.size(); ++step) {
    std::cout << fmt::format("step {}: loss {:.9f} on one rank, {:.9f} on eight\n", step + 1, one[step], eight[step]);
    worst = std::max(worst, std::abs(one[step] - eight[step]) / std::abs(one[step]));
  }
  std::cout << fmt::format("largest difference {:.1e}\n", worst);
  return worst < 1e-9 ? 0 : 1;
}
