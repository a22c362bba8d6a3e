// Two matrix products with one annotation, to show what sharding propagation does with the rest.

#include <random>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/views/repeat.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "zoo/models.h"

namespace partita {
namespace {

constexpr int64_t kIn = 32, kHidden = 16, kOut = 16;
constexpr int64_t kRows = 2, kCopies = 8, kSteps = 4;  // rows per rank, ranks, steps per epoch

class QuickstartNet : public Layer {
 public:
  explicit QuickstartNet(CallLocation where = CallLocation::current()) : Layer(where) {}

  Value construct(Context& context, Value x) override {
    const Value w = context.parameter("w", {kIn, kHidden}, normal_initializer(0, 0.01));
    const Value w2 = context.parameter("w2", {kHidden, kOut}, normal_initializer(0, 0.01));
    // The rows are split in 2. The summed dimension, columns of x and rows of w, is split in 4.
    const Value out = matmul(x, w).shard({{2, 4}, {4, 1}});
    return matmul(relu(out), w2);
  }
};

/// Returns the model's own rows with the columns "input" and "label": NumPy's numbers of seed 1, rand(2, 32), then
/// rand(2, 16). They are repeated `kCopies` times, so that every rank reads the same rows, and that for each of
/// `kSteps` steps of an epoch.
DatasetPtr quickstart_rows() {
  std::mt19937 words(1);
  const auto draw = [&](int64_t columns) {
    Array rows(Type{DType::f32, {kRows * kCopies, columns}});
    for (int64_t i = 0; i < kRows * columns; ++i) {
      const double high = words() >> 5, low = words() >> 6;
      const double number = (high * 67108864 + low) / 9007199254740992;
      for (int64_t copy = 0; copy < kCopies; ++copy) rows.set(copy * kRows * columns + i, number);
    }
    return rows;
  };
  std::vector<std::pair<std::string, Array>> columns;
  columns.emplace_back("input", draw(kIn));
  columns.emplace_back("label", draw(kOut));
  return repeat(memory_rows(std::move(columns)), kSteps);
}

}  // namespace

ZooModel make_quickstart(ModelSizes&) {
  JobConfig recipe{.training = {.batch = kRows * kCopies, .epochs = 5, .loss = Loss::mse},
                   .optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.1},
                   .schedule = {.kind = LrKind::constant, .learning_rate = 0.2},
                   .plan = {.options = {.parallel = Parallel::automatic}},
                   .console = {.per_print_times = 1}};
  return {
      "quickstart", share(QuickstartNet()), {.input = "input", .classes = kOut}, quickstart_rows(), std::move(recipe)};
}

}  // namespace partita
