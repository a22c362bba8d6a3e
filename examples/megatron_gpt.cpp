// A transformer on four ranks, two for the batch and two for its layers: one annotation of the first query splits all
// blocks by columns, then by rows (Shoeybi et al., 2019), and the vocabulary of the last layer too. The losses are
// those of one rank.

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
  const ZooModel gpt = make_model("gpt:layers=2,hidden=64,heads=4,seq=32,dropout=0.1");
  JobConfig config = gpt.recipe;
  config.training = {.batch = 8, .dtype = DType::f64};
  config.ranks.count = ranks;
  if (ranks > 1) {
    config.plan.options = {.parallel = Parallel::automatic, .dataset = parse_dataset_sharding("((2,1),(2,1))")};
    config.plan.annotations = {parse_node_annotation("net/h/0/attn/q/matmul=((2,1,1),(2,1))")};
  }
  Model model(gpt.network(Loss::sparse), config);
  Losses losses;
  model.train(make_synthetic_text(/*rows=*/64, {.tokens = 32}, /*seed=*/1, Split::train),
              {.callbacks = {&losses}, .prints = false});
  return losses.all;
}

}  // namespace

int main() {
  const std::vector<double> one = train(1), four = train(4);
  double worst = 0;
  for (size_t step = 0; step < one.size(); ++step) {
    std::cout << fmt::format("step {}: loss {:.9f} on one rank, {:.9f} on four\n", step + 1, one[step], four[step]);
    worst = std::max(worst, std::abs(one[step] - four[step]) / std::abs(one[step]));
  }
  std::cout << fmt::format("largest difference {:.1e}\n", worst);
  return worst < 1e-9 ? 0 : 1;
}
