// Two pipeline stages on four ranks each, four micro-batches, the states of the optimizer divided over the ranks of a
// stage, and an activation that the backward makes again: example_pipeline [MNIST_FOLDER]
//
// The labels are learnt as numbers. Without a folder the images are generated. Under mpirun -n 8 each rank is a
// process.
#include <partita/data.h>
#include <partita/model.h>
#include <partita/network.h>

#include <iostream>

using namespace partita;

int main(int argc, char** argv) try {
  const DataSource source = argc > 1 ? parse_data_source("pipeline", argv[1]) : DataSource{};
  const DatasetPtr rows = open_dataset(source, Split::train, {.image = {DType::u8, {28, 28, 1}}});

  auto layer1 = dense(512), relu1 = relu_layer(), layer2 = dense(512), relu2 = relu_layer(), layer3 = dense(1);
  for (const LayerPtr& layer : {layer1, relu1}) layer->pipeline_stage(0);
  for (const LayerPtr& layer : {layer2, relu2, layer3}) layer->pipeline_stage(1);
  relu1->recompute();
  relu2->recompute();
  const LayerPtr net = sequential({{"flatten", flatten()},
                                   {"layer1", layer1},
                                   {"relu1", relu1},
                                   {"layer2", layer2},
                                   {"relu2", relu2},
                                   {"layer3", layer3}});
  const auto forward = [=](Context& context, Columns& columns) -> NamedValues {
    return {{"logits", context.call("net", *net, columns.at("image"))}};
  };
  const auto loss = [](Context&, Columns& columns, const NamedValues& outputs) -> NamedValues {
    const Value label = columns.at("label"), logits = find_output(outputs, "logits");
    return {{"loss", reduce_mean(abs(logits - reshape(cast(label, DType::f32), logits.shape())))}};
  };
  Model model({"pipeline", forward, loss},
              {.training = {.batch = 32, .epochs = 2},
               .optimizer = {.kind = OptimizerKind::momentum},
               .schedule = {.learning_rate = 0.002},
               .ranks = {.count = 8},
               .plan = {.options = {.micro_batches = 4, .zero = {.level = 1, .threshold = 0}}},
               .console = {.per_print_times = 16}});
  model.train(rows);
} catch (const partita::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
