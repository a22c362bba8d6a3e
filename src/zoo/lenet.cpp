#include "frontend/network/layers/layers.h"
#include "zoo/models.h"

namespace partita {

ZooModel make_lenet(ModelSizes& options) {
  const int64_t classes = options.integer("classes", 10, 2, 1 << 20);
  const double dropout = options.number("dropout", 0, 0, 0.99);
  std::vector<std::pair<std::string, LayerPtr>> layers{{"conv1", conv2d(6, 5, Conv2dOptions{.padding = Padding::same})},
                                                       {"relu1", relu_layer()},
                                                       {"pool1", max_pool(2)},
                                                       {"conv2", conv2d(16, 5)},
                                                       {"relu2", relu_layer()},
                                                       {"pool2", max_pool(2)},
                                                       {"flatten", flatten()},
                                                       {"fc1", dense(120)},
                                                       {"relu3", relu_layer()},
                                                       {"fc2", dense(84)},
                                                       {"relu4", relu_layer()}};
  if (dropout > 0) layers.emplace_back("dropout", partita::dropout(dropout));
  layers.emplace_back("fc3", dense(classes));
  JobConfig recipe{.training = {.batch = 32, .epochs = 2},
                   .optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.9},
                   .schedule = {.kind = LrKind::cosine, .learning_rate = 0.03, .warmup_steps = 300}};
  RowFormat rows = image_format({1, 28, 28}, classes);
  rows.input_shape = {kAnySize, kAnySize, kAnySize};
  return {"lenet", sequential(std::move(layers)), std::move(rows), nullptr, std::move(recipe)};
}

}  // namespace partita
