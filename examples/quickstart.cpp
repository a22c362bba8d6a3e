// A first program: a classifier whose wide layer is cut over four ranks. One annotation says so; how everything else is
// cut, and what the ranks send each other, follows from it. Prints the loss of every fourth step.

#include <partita/data.h>
#include <partita/model.h>
#include <partita/network.h>

using namespace partita;

namespace {

/// Classes of images[n, 16, 16, 1]: one wide layer, then one value for each class.
class WideClassifier : public Layer {
 public:
  explicit WideClassifier(CallLocation where = CallLocation::current()) : Layer(where) {}

  Value construct(Context& context, Value image) override {
    const Value pixels = reshape(image, {image.shape()[0], 256});
    const Value up = context.parameter("up", {256, 96}, normal_initializer(0, 0.1));
    const Value down = context.parameter("down", {96, 10}, normal_initializer(0, 0.1));
    // The pixels stay whole; each rank has 24 of the 96 columns of `up`, and so the same rows of `down`.
    const Value wide = matmul(pixels, up).shard({{1, 1}, {1, 4}});
    return matmul(relu(wide), down);
  }
};

}  // namespace

int main() {
  const Type image{DType::u8, {16, 16, 1}};
  const DatasetPtr rows = map(make_synthetic(image, /*classes=*/10, /*rows=*/1024, /*seed=*/1, Split::train), {"image"},
                              rescale(1.0 / 64, -2));
  Model model({"quickstart", share(WideClassifier()), Loss::sparse},
              {.training = {.batch = 32, .epochs = 2},
               .optimizer = {.kind = OptimizerKind::momentum},
               .schedule = {.learning_rate = 0.05},
               .ranks = {.count = 4},
               .plan = {.options = {.parallel = Parallel::automatic}},
               .console = {.per_print_times = 4}});
  model.train(rows);
}
