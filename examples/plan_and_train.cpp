// Plans a small GPT for four H100 of a node and trains it under that plan on this machine, where ranks are threads.

#include <partita/data.h>
#include <partita/model.h>
#include <partita/plan.h>
#include <partita/zoo.h>

#include <iostream>

using namespace partita;

int main() {
  const ZooModel gpt = make_model("gpt:layers=4,hidden=64,heads=4,seq=32");
  JobConfig config = gpt.recipe;
  config.training.batch = 16;

  const PlannedJob job = plan({.network = TrainedNetwork{gpt.network(Loss::sparse), config, gpt.columns()},
                               .cluster = "h100",
                               .ranks = 4,
                               .pins = parse_pins("pipeline=2"),
                               .idle = false});
  std::cout << print(job.priced) << "\n" << print_layers(job) << "\n" << print_others(job);
  require_fit(job);  // says what would help otherwise

  config = config_of(job);
  config.training.steps = 40;
  Model model(gpt.network(Loss::sparse), config);
  LossMonitor monitor(std::cout, /*per_print_times=*/10);
  model.train(make_synthetic_text(/*rows=*/640, {.tokens = 32}, /*seed=*/1, Split::train), {.callbacks = {&monitor}});
}
