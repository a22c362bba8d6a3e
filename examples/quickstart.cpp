// One annotation, and the rest of the network is completed: two products of matrices on eight ranks.

#include <partita/data.h>
#include <partita/model.h>
#include <partita/network.h>

#include <random>

using namespace partita;

namespace {

class Net : public Layer {
 public:
  explicit Net(CallLocation where = CallLocation::current()) : Layer(where) {}

  Value construct(Context& context, Value x) override {
    const Value w = context.parameter("w", {32, 16}, normal_initializer(0, 0.01));
    const Value w2 = context.parameter("w2", {16, 16}, normal_initializer(0, 0.01));
    // x is cut into 2 parts by rows and 4 by columns, w into 4 by rows: the sum over these 4 is a reduction.
    const Value out = matmul(x, w).shard({{2, 4}, {4, 1}});
    return matmul(relu(out), w2);
  }
};

Array uniform(int64_t rows, int64_t columns, uint32_t seed) {
  Array array(Type{DType::f32, {rows, columns}});
  std::mt19937 random(seed);
  for (float& element : std::span(array.as<float>(), static_cast<size_t>(rows * columns))) {
    element = static_cast<float>(random()) / 4294967296.0F;
  }
  return array;
}

}  // namespace

int main() {
  std::vector<std::pair<std::string, Array>> columns;
  columns.emplace_back("input", uniform(16, 32, /*seed=*/1));
  columns.emplace_back("label", uniform(16, 16, /*seed=*/2));
  const DatasetPtr rows = repeat(memory_rows(std::move(columns)), /*times=*/4);

  Model model({"quickstart", share(Net()), Loss::mse}, {.training = {.batch = 16, .epochs = 5},
                                                        .optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.1},
                                                        .schedule = {.learning_rate = 0.2},
                                                        .ranks = {.count = 8},
                                                        .plan = {.options = {.parallel = Parallel::automatic}},
                                                        .console = {.per_print_times = 1}});
  model.train(rows);
}
