// Four kinds of parallelism at once: two pipeline stages, each on four ranks that share the batch and the states of the
// optimizer, with micro-batches and recomputation: example_pipeline [MNIST_FOLDER]
//
// A stack of equal blocks learns digits; without a folder these are generated. Under mpirun -n 8 each rank is a
// process. Prints the loss of every 16th step.
#include <partita/data.h>
#include <partita/model.h>
#include <partita/network.h>

#include <iostream>

using namespace partita;

namespace {

/// `blocks` times a dense layer and a relu. The first half is stage 0, the second stage 1. The backward pass recomputes
/// each relu.
std::vector<std::pair<std::string, LayerPtr>> stack_of_blocks(int blocks, int64_t width) {
  std::vector<std::pair<std::string, LayerPtr>> layers;
  for (int i = 0; i < blocks; ++i) {
    const LayerPtr product = dense(width), activation = relu_layer();
    for (const LayerPtr& layer : {product, activation}) layer->pipeline_stage(2 * i < blocks ? 0 : 1);
    activation->recompute();
    layers.emplace_back(fmt::format("block{}", i), product);
    layers.emplace_back(fmt::format("relu{}", i), activation);
  }
  return layers;
}

}  // namespace

int main(int argc, char** argv) try {
  const DataSource source = argc > 1 ? parse_data_source("pipeline", argv[1]) : DataSource{};
  const DatasetPtr rows = open_dataset(source, Split::train, {.image = {DType::u8, {28, 28, 1}}});

  auto layers = stack_of_blocks(/*blocks=*/4, /*width=*/128);
  layers.insert(layers.begin(), {"flatten", flatten()});
  const LayerPtr head = dense(10);
  head->pipeline_stage(1);
  layers.emplace_back("head", head);
  Model model({"pipeline", sequential(layers), Loss::sparse},
              {.training = {.batch = 32, .epochs = 2},
               .optimizer = {.kind = OptimizerKind::momentum},
               .schedule = {.learning_rate = 0.01},
               .ranks = {.count = 8},
               .plan = {.options = {.micro_batches = 4, .zero = {.level = 1, .threshold = 0}}},
               .console = {.per_print_times = 16}});
  model.train(rows);
} catch (const partita::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
