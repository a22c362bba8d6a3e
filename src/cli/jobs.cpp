#include "cli/jobs.h"

#include <iostream>

#include "comm/inproc/collectives.h"
#include "ops/registry.h"

namespace partita {

void add_job_flags(CLI::App& command, JobFlags& flags) {
  command.add_option("MODEL", flags.model, "mlp, lenet or resnet18, with sizes as in mlp:layers=2,hidden=4096")
      ->required();
  command.add_option("--data", flags.data, "mnist:DIR, cifar10:DIR or synthetic");
  command.add_option("--ranks", flags.ranks, "Ranks, as threads of this process")->capture_default_str();
  command.add_option("--parallel", flags.parallel, "none or data; data when there are several ranks");
  command.add_option("--batch", flags.batch, "Rows of the global batch");
  command.add_option("--resize", flags.resize, "Side of the images after resizing");
  command.add_option("--dtype", flags.dtype, "f32 or f64")->capture_default_str();
  command.add_option("--threads", flags.threads, "Compute threads per rank; an even share of the cores when not given");
  command.add_option("--seed", flags.seed, "Of initial values, order of rows and dropout")->capture_default_str();
  command.add_option("--kernels", flags.kernels, "fast or reference")->capture_default_str();
  command.add_option("--load", flags.load, "Start from the weights in this file (safetensors)");
}

Job::Job(const JobFlags& flags) {
  check_range("--ranks", flags.ranks, 1, kMaxRanks);
  check_range("--threads", flags.threads, 0, 4096);
  check_range("--batch", flags.batch.value_or(1), 1);
  check_range("--resize", flags.resize.value_or(1), 1, 4096);
  check_choice("--dtype", flags.dtype, {"f32", "f64"});
  check_choice("--kernels", flags.kernels, {"fast", "reference"});
  options.ranks = flags.ranks;
  options.parallel = !flags.parallel.empty() ? flags.parallel : flags.ranks > 1 ? "data" : "none";
  check_choice("--parallel", options.parallel, parallel_modes());

  ZooModel model = make_model(flags.model);
  network = std::move(model.network);
  recipe = std::move(model.recipe);
  generated = flags.data.empty();
  if (!generated) data = parse_data_spec(flags.data);

  options.threads = threads_per_rank(flags.threads, flags.ranks);
  options.batch = flags.batch.value_or(recipe.batch);
  options.seed = flags.seed;
  options.dtype = *parse_dtype(flags.dtype);
  options.local_statistics = options.parallel == "data" && flags.ranks > 1;
  options.kernels = flags.kernels == "fast" ? KernelSet::fast : KernelSet::reference;
  options.schedule = recipe.schedule;
  rows = {.image = {DType::u8, {recipe.image.at(1), recipe.image.at(2), recipe.image.at(0)}},
          .resize = flags.resize.value_or(0),
          .dtype = options.dtype,
          .seed = flags.seed,
          .classes = static_cast<int>(recipe.classes),
          .augment = recipe.augment};
  options.warn = [](const std::string& warning) { std::cerr << "partita: warning: " << warning << "\n"; };
}

void Job::settle_threads() {
  wait_passively(options.ranks, options.threads);
  warn_of_crowd(options.ranks, options.threads);
}

DatasetPtr Job::dataset(Split split) const {
  if (generated && split == Split::train) {
    std::cout << fmt::format("no data given: training on a generated stand-in ({} images, {}x{})\n",
                             kSyntheticTrainRows, rows.image.shape[0], rows.image.shape[1]);
  }
  if (split == Split::train) return open_dataset(data, split, rows);
  try {
    return open_dataset(data, split, rows);
  } catch (const MissingFile&) {
    return nullptr;
  }
}

Graph model_graph(const std::string& model, int64_t batch, int ranks, bool training) {
  const auto [network, recipe] = make_model(model);
  return build_graph(*network, all_ops(),
                     {.batch = batch > 0 ? batch : recipe.batch,
                      .image = recipe.image,
                      .training = training,
                      .loss = recipe.loss,
                      .norm_groups = training ? ranks : 1});
}

Program compile_on_ranks(const Graph& graph, int ranks, const CompileOptions& options) {
  const auto device = make_cpu_device(all_ops(), /*threads=*/1);
  return compile(graph, all_ops(), ranks > 1 ? Mesh({{"data", ranks}}) : Mesh(), device->catalog(), options);
}

}  // namespace partita
