#include "network/layers/layers.h"
#include "zoo/models.h"

namespace partita {

ZooModel make_lenet(ModelOptionsText& options) {
  const int64_t classes = options.integer("classes", 10, 2, 1 << 20);
  const double dropout = options.number("dropout", 0, 0, 0.99);
  std::vector<std::pair<std::string, LayerPtr>> layers{
      {"conv1", std::make_shared<Conv2d>(6, 5, Conv2dOptions{.padding = Padding::same})},
      {"relu1", std::make_shared<Relu>()},
      {"pool1", std::make_shared<MaxPool2d>(2)},
      {"conv2", std::make_shared<Conv2d>(16, 5)},
      {"relu2", std::make_shared<Relu>()},
      {"pool2", std::make_shared<MaxPool2d>(2)},
      {"flatten", std::make_shared<Flatten>()},
      {"fc1", std::make_shared<Dense>(120)},
      {"relu3", std::make_shared<Relu>()},
      {"fc2", std::make_shared<Dense>(84)},
      {"relu4", std::make_shared<Relu>()}};
  if (dropout > 0) layers.emplace_back("dropout", std::make_shared<Dropout>(dropout));
  layers.emplace_back("fc3", std::make_shared<Dense>(classes));
  return {std::make_shared<Network>(Network{"lenet", std::make_shared<Sequential>(std::move(layers))}),
          {.image = {1, 28, 28},
           .classes = classes,
           .batch = 64,
           .epochs = 2,
           .optimizer = {.kind = "momentum", .momentum = 0.9},
           .schedule = {.kind = "linear", .learning_rate = 0.03}}};
}

}  // namespace partita
