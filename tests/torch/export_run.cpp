// Trains a model for ten steps on random batches and writes all that another program needs to repeat it:
//
//   torch_export MODEL f32|f64|bf16 fast|reference nesterov|momentum|sgd|adam|adamw|adamw_eps OUT.safetensors [ignored]
//
// bf16: f32 with products of bf16.
// ignored: labels of -100 count for nothing, two of three in the first half of the rows. Losses and states are then
// those of four micro-batches on two pipeline stages.
// MODEL is "block" (one residual block) or a model of the zoo.
//
// Tensors: initial.NAME, batch.STEP.image (or tokens), batch.STEP.label, logits, loss (one per step), d_NAME (first
// step), final.NAME.

#include "base/philox.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "runtime/checkpoint/weights.h"
#include "support/job.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr int kSteps = 10;
constexpr int64_t kBatch = 16;
constexpr int64_t kIgnored = -100;  // PyTorch's

const std::map<std::string, DType> kTypes{{"f32", DType::f32}, {"f64", DType::f64}, {"bf16", DType::f32}};
const std::map<std::string, KernelSet> kKernels{{"fast", KernelSet::fast}, {"reference", KernelSet::reference}};
const std::map<std::string, OptimizerOptions> kOptimizers{
    {"nesterov", {.kind = OptimizerKind::momentum, .momentum = 0.9, .nesterov = true, .weight_decay = 1e-3}},
    {"momentum", {.kind = OptimizerKind::momentum, .momentum = 0.8}},
    {"sgd", {.kind = OptimizerKind::sgd, .weight_decay = 1e-3}},
    {"adam", {.kind = OptimizerKind::adam, .weight_decay = 1e-3}},
    {"adamw", {.kind = OptimizerKind::adamw, .weight_decay = 0.1, .clip_norm = 0.5}},
    {"adamw_eps", {.kind = OptimizerKind::adamw, .weight_decay = 0.1, .epsilon = 1e-3, .clip_norm = 0.5}}};

/// A residual block that halves the image, then the classes.
class BlockNet : public Layer {
 public:
  Value construct(Context& context, Value x) override {
    Value y = relu(context.call("bn1", *norm1_, context.call("conv1", *conv1_, x)));
    y = context.call("bn2", *norm2_, context.call("conv2", *conv2_, y));
    y = relu(y + context.call("downsample", *downsample_, x));
    return context.call("fc", *fc_, context.call("pool", *pool_, y));
  }

 private:
  static LayerPtr conv(int64_t kernel, int64_t stride) {
    const int64_t pad = kernel / 2;
    return conv2d(
        8, kernel,
        Conv2dOptions{
            .stride = {stride, stride}, .padding = Padding::explicit_, .pads = {pad, pad, pad, pad}, .bias = false});
  }

  LayerPtr conv1_ = conv(3, 2), norm1_ = batch_norm(), conv2_ = conv(3, 1), norm2_ = batch_norm();
  LayerPtr downsample_ = sequential(std::vector<LayerPtr>{conv(1, 2), batch_norm()});
  LayerPtr pool_ = global_avg_pool(), fc_ = dense(10);
};

ZooModel model_of(const std::string& spec) {
  if (spec != "block") return make_model(spec);
  return {"block", share(BlockNet()), image_format({3, 16, 16}, 10)};
}

/// Sets two of every three labels in the first half of the rows to the ignored class.
void ignore_some(Array& labels) {
  for (int64_t i = 0; i < labels.type().elements() / 2; ++i) {
    if (i % 3 != 0) labels.set(i, static_cast<double>(kIgnored));
  }
}

void export_run(const std::string& spec, DType dtype, MixedPrecision precision, KernelSet kernels,
                const OptimizerOptions& optimizer, const std::string& path, bool ignores) {
  const ZooModel model = model_of(spec);
  Job job;
  const std::vector<Column> columns = model.columns(dtype);
  const std::string input = columns.at(0).name;
  job.forward =
      build_graph(model.network(Loss::sparse, ignores ? LossOptions{.ignore_index = kIgnored} : LossOptions()),
                  all_ops(), {.batch = kBatch, .columns = columns, .dtype = dtype});
  job.training = {.optimizer = optimizer, .output_gradients = true, .precision = {.precision = precision}};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.steps = kSteps;
  job.learning_rate = 0.01;
  job.kernels = kernels;
  const Type given = job.forward.type(job.forward.input(input)), label = job.forward.type(job.forward.input("label"));
  job.batch = [&](int step) {
    Arrays batch;
    batch.emplace(input, random_array(given, random_key(step, "image"), /*below=*/10));
    batch.emplace("label", random_array(label, random_key(step, "label"), /*below=*/10));
    if (ignores) ignore_some(batch.at("label"));
    return batch;
  };
  JobResult result = run_job(job);
  if (ignores) {  // logits and gradients are no outputs of micro-batches
    job.micro_batches = 4;
    job.ranks = 2;
    job.pipeline.stages = 2;
    JobResult in_parts = run_job(job);
    result.losses = std::move(in_parts.losses);
    result.states = std::move(in_parts.states);
  }

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
  const bool ignores = argc == 7 && std::string_view(argv[6]) == "ignored";
  if ((argc != 6 && !ignores) || !kTypes.contains(argv[2]) || !kKernels.contains(argv[3]) ||
      !kOptimizers.contains(argv[4])) {
    fmt::print(stderr, "usage: {} MODEL f32|f64|bf16 fast|reference OPTIMIZER OUT [ignored]\n", argv[0]);
    return 64;
  }
  try {
    const MixedPrecision precision = std::string_view(argv[2]) == "bf16" ? MixedPrecision::bf16 : MixedPrecision::f32;
    export_run(argv[1], kTypes.at(argv[2]), precision, kKernels.at(argv[3]), kOptimizers.at(argv[4]), argv[5], ignores);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
