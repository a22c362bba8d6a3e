#include "frontend/network/layers/layers.h"
#include "zoo/models.h"

namespace partita {

ZooModel make_mlp(ModelSizes& options) {
  const int64_t layers = options.integer("layers", 2, 1, kMaxLayers);
  const int64_t hidden = options.integer("hidden", 256, 1, 1 << 20);
  const int64_t classes = options.integer("classes", 10, 2, 1 << 20);
  const double dropout = options.number("dropout", 0, 0, 0.99);
  std::vector<std::pair<std::string, LayerPtr>> list{{"flatten", flatten()}};
  for (int64_t i = 0; i < layers; ++i) {
    list.emplace_back(fmt::format("fc{}", i + 1), dense(hidden));
    list.emplace_back(fmt::format("relu{}", i + 1), relu_layer());
    if (dropout > 0) list.emplace_back(fmt::format("dropout{}", i + 1), partita::dropout(dropout));
  }
  list.emplace_back(fmt::format("fc{}", layers + 1), dense(classes));
  JobConfig recipe{.training = {.batch = 64, .epochs = 2},
                   .optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.9},
                   .schedule = {.kind = LrKind::cosine, .learning_rate = 0.03, .warmup_steps = 100}};
  RowFormat rows = image_format({1, 28, 28}, classes);
  rows.input_shape = {};  // any shape; the first layer flattens it
  return {"mlp", sequential(std::move(list)), std::move(rows), nullptr, std::move(recipe)};
}

}  // namespace partita
