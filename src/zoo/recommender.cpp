// Look-ups in a large table, which feed a linear model and a deep network (Cheng et al., 2016, "Wide & deep learning
// for recommender systems").

#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "zoo/models.h"

namespace partita {
namespace {

struct RecommenderOptions {
  int64_t fields, rows, width, features, layers, hidden;
};

/// Maps ids [b, fields] and features [b, n] to logits [b, 2]. Each hidden layer has half the units of the one before
/// it. Throws InvalidArgument for rows of other sizes.
class Recommender : public Layer {
 public:
  explicit Recommender(const RecommenderOptions& options) : options_(options) {
    std::vector<std::pair<std::string, LayerPtr>> layers;
    for (int64_t i = 0; i < options.layers; ++i) {
      layers.emplace_back(fmt::format("fc{}", i + 1), dense(std::max<int64_t>(1, options.hidden >> i)));
      layers.emplace_back(fmt::format("relu{}", i + 1), relu_layer());
    }
    layers.emplace_back(fmt::format("fc{}", options.layers + 1), dense(kClasses));
    deep_ = sequential(std::move(layers));
  }

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    const Value ids = inputs.at(0);
    if (ids.type().rank() != 2 || ids.shape()[1] != options_.fields) {
      throw InvalidArgument("[recommender] wrong ids, got {}, expected [batch,{}]", print(ids.type()), options_.fields);
    }
    const int64_t batch = ids.shape()[0];
    const Value table =
        context.parameter("deep_table.weight", {options_.rows, options_.width}, normal_initializer(0, 0.01));
    const Value weights =
        context.parameter("wide_table.weight", {options_.rows, kClasses}, normal_initializer(0, 0.01));
    Value x = reshape(apply("embedding", {table, ids}), {batch, options_.fields * options_.width});
    Value wide = reduce_sum(apply("embedding", {weights, ids}), {1});
    if (inputs.size() > 1) {
      x = apply("concat", {x, inputs[1]}, ConcatAttrs{.axis = 1});
      wide = wide + context.call("wide", *wide_, inputs[1]);
    }
    return {wide + context.call("deep", *deep_, x)};
  }

 private:
  static constexpr int64_t kClasses = 2;  // the softmax of two logits is the sigmoid of their difference

  RecommenderOptions options_;
  LayerPtr wide_ = dense(kClasses, {.bias = false, .init = normal_initializer(0, 0.01)}), deep_;
};

}  // namespace

ZooModel make_recommender(ModelSizes& options) {
  // 39 fields and layers of 1024, 512, 256 and 128 are usual for the Criteo logs.
  const RecommenderOptions base =
      options.published<RecommenderOptions>({{"criteo", {39, 200000, 80, 0, 4, 1024}}}, {8, 1000, 16, 4, 2, 64});
  const RecommenderOptions sizes{.fields = options.integer("fields", base.fields, 1, 1 << 16),
                                 .rows = options.integer("rows", base.rows, 1, (int64_t{1} << 31) - 1),
                                 .width = options.integer("width", base.width, 1, 1 << 16),
                                 .features = options.integer("features", base.features, 0, 1 << 16),
                                 .layers = options.integer("layers", base.layers, 1, 30),
                                 .hidden = options.integer("hidden", base.hidden, 1, 1 << 20)};
  JobConfig recipe{.training = {.batch = 64, .epochs = 4},
                   .optimizer = {.kind = OptimizerKind::adam},
                   .schedule = {.kind = LrKind::cosine, .learning_rate = 1e-2, .warmup_steps = 20}};
  std::vector<std::string> inputs{"ids"};
  if (sizes.features > 0) inputs.push_back("features");
  return {
      "recommender",
      share(Recommender(sizes)),
      {.input = "ids", .records = {.ids = sizes.fields, .rows = sizes.rows, .features = sizes.features}, .classes = 2},
      nullptr,
      std::move(recipe),
      std::move(inputs)};
}

}  // namespace partita
