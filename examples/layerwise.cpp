// Data parallel but for one large parameter, which is split over all ranks and whose gradient is therefore not reduced.

#include <partita/data.h>
#include <partita/model.h>
#include <partita/network.h>

using namespace partita;

namespace {

/// y = x weight^T, the rows of the weight split over the ranks.
class SplitDense : public Layer {
 public:
  explicit SplitDense(int64_t units, CallLocation where = CallLocation::current()) : Layer(where), units_(units) {}

  Value construct(Context& context, Value x) override {
    const Value weight = context.parameter("weight", {units_, x.shape()[1]}, normal_initializer(0, 0.05));
    context.builder().layerwise(weight, /*dim=*/0);
    return matmul(x, weight, /*transpose_a=*/false, /*transpose_b=*/true);
  }

 private:
  int64_t units_;
};

}  // namespace

int main() {
  const Type image{DType::u8, {16, 16, 1}};
  const DatasetPtr rows = map(make_synthetic(image, /*classes=*/10, /*rows=*/1024, /*seed=*/1, Split::train), {"image"},
                              chain({rescale(1.0 / 255, 0), hwc_to_chw()}));
  const LayerPtr net = sequential(
      {{"flatten", flatten()}, {"wide", share(SplitDense(1024))}, {"relu", relu_layer()}, {"head", dense(10)}});
  Model model({"layerwise", net}, {.training = {.batch = 64, .epochs = 2},
                                   .optimizer = {.kind = OptimizerKind::momentum},
                                   .schedule = {.learning_rate = 0.05},
                                   .ranks = {.count = 4},
                                   .plan = {.options = {.parallel = Parallel::hybrid}},
                                   .console = {.per_print_times = 4}});
  model.train(rows);
}
