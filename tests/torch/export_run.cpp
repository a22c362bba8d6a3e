// Trains a model for ten steps on random batches and writes all that another program needs to repeat it:
//
//   torch_export MODEL f32|f64 fast|reference OUT.safetensors
//
// Tensors: initial.NAME, batch.STEP.image, batch.STEP.label, logits, loss (one per step), d_NAME (first
// step), final.NAME.

#include "base/philox.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "support/job.h"
#include "train/weights.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr int kSteps = 10;
constexpr int64_t kBatch = 16;

void export_run(const std::string& spec, DType dtype, KernelSet kernels, const std::string& path) {
  const ZooModel model = make_model(spec);
  Job job;
  job.forward = build_graph(*model.network, all_ops(), {.batch = kBatch, .image = model.recipe.image, .dtype = dtype});
  job.training = {.optimizer = {.kind = "momentum", .momentum = 0.9, .nesterov = true, .weight_decay = 1e-3},
                  .output_gradients = true};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.steps = kSteps;
  job.learning_rate = 0.01;
  job.kernels = kernels;
  const Type image = job.forward.type(job.forward.input("image")), label = job.forward.type(job.forward.input("label"));
  job.batch = [&](int step) {
    Arrays batch;
    batch.emplace("image", random_array(image, random_key(step, "image")));
    batch.emplace("label", random_array(label, random_key(step, "label"), /*below=*/10));
    return batch;
  };
  const JobResult result = run_job(job);

  std::vector<std::pair<std::string, Array>> tensors;
  for (const auto& [name, array] : job.states) tensors.emplace_back("initial." + name, array);
  for (int step = 0; step < kSteps; ++step) {
    for (const auto& [name, array] : job.batch(step))
      tensors.emplace_back(fmt::format("batch.{}.{}", step, name), array);
  }
  tensors.emplace_back("loss", Array({kSteps}, result.losses));
  tensors.emplace_back("logits", result.logits);
  for (const auto& [name, array] : result.gradients) tensors.emplace_back(name, array);
  for (const auto& [name, array] : result.states) tensors.emplace_back("final." + name, array);
  save_weights(path, tensors);
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  if (argc != 5) {
    fmt::print(stderr, "usage: {} MODEL f32|f64 fast|reference OUT\n", argv[0]);
    return 64;
  }
  try {
    const std::optional<DType> dtype = parse_dtype(argv[2]);
    export_run(argv[1], dtype.value_or(DType::f32),
               std::string(argv[3]) == "fast" ? KernelSet::fast : KernelSet::reference, argv[4]);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
