#include "cli/jobs.h"

#include <iostream>
#include <limits>

#include "comm/inproc/collectives.h"
#include "comm/mpi/mpi.h"
#include "data/maps/image_maps.h"
#include "data/views/map.h"
#include "ops/registry.h"
#include "train/rank_run.h"

namespace partita {

int64_t batch_of(const std::string& text) {
  return static_cast<int64_t>(parse_whole("--batch", text, 1, uint64_t{kLargestNumber}));
}

uint64_t seed_of(const std::string& text) {
  return parse_whole("--seed", text, 0, std::numeric_limits<uint64_t>::max());
}

void add_job_flags(CLI::App& command, JobFlags& flags) {
  command
      .add_option(
          "MODEL", flags.model,
          "mlp, lenet, resnet18, resnet50, resnet101, gpt or quickstart, with sizes as in mlp:layers=2,hidden=4096")
      ->required();
  command.add_option("--data", flags.data, "mnist:DIR, cifar10:DIR, text:FILE or synthetic");
  command.add_option("--ranks", flags.ranks, "Ranks, as threads of this process; under mpirun or srun, its processes")
      ->capture_default_str();
  command.add_option("--batch", flags.batch, "Rows of the global batch")->type_name("INT");
  command.add_option("--resize", flags.resize, "Side of the images after resizing");
  command.add_option("--dtype", flags.dtype, "f32 or f64")->capture_default_str();
  command.add_option("--threads", flags.threads, "Compute threads per rank; an even share of the cores when not given");
  command.add_option("--seed", flags.seed, "Of initial values, order of rows and dropout")
      ->type_name("UINT")
      ->capture_default_str();
  command.add_option("--kernels", flags.kernels, "fast or reference")->capture_default_str();
  add_plan_flags(command, flags.split);
  command.add_option("--console", flags.console, "first or all: the ranks that print, when they are processes")
      ->capture_default_str();
  command.add_option("--log-dir", flags.log_dir, "Write what each process prints to rank_R.log in this folder");
  command.add_option("--load", flags.load, "Start from the weights in this file (safetensors)");
}

namespace {

void check_threads(int64_t threads) {
  if (threads >= 0 && threads <= most_threads()) return;
  throw InvalidArgument(
      fmt::format("[--threads] out of range, got {}, expected 0 to {}: eight times the cores, and no fewer than 64",
                  threads, most_threads()));
}

/// A model that brings its rows reads no others.
void refuse_data(const JobFlags& flags) {
  const auto refuse = [&](std::string_view flag, const std::string& got) {
    throw InvalidArgument(fmt::format("[{}] {} brings its rows along, got {}, expected none", flag, flags.model, got));
  };
  if (!flags.data.empty()) refuse("--data", flags.data);
  if (flags.resize) refuse("--resize", fmt::format("{}", *flags.resize));
}

}  // namespace

Job::Job(const JobFlags& given) {
  JobFlags flags = given;
  const std::optional<LaunchedRank> launched = this_rank();
  if (launched && launched->size > 1) {
    if (flags.ranks > 1 && flags.ranks != launched->size) {
      throw InvalidArgument(
          fmt::format("[--ranks] {} started another number of ranks, got {}, expected {} or no --ranks",
                      launched->launcher, flags.ranks, launched->size));
    }
    flags.ranks = launched->size;
  }
  check_choice("--console", flags.console, {"first", "all"});
  all_speak = flags.console == "all";
  log_dir = flags.log_dir;
  check_range("--ranks", flags.ranks, 1, kMaxRanks);
  check_threads(flags.threads);
  check_range("--resize", flags.resize.value_or(1), 1, 4096);
  check_choice("--dtype", flags.dtype, {"f32", "f64"});
  check_choice("--kernels", flags.kernels, {"fast", "reference"});
  options.ranks = static_cast<int>(flags.ranks);

  ZooModel model = make_model(flags.model);
  network = std::move(model.network);
  recipe = std::move(model.recipe);
  options.plan = plan_options(flags.split, flags.ranks, recipe.parallel);
  options.marks = node_marks(flags.split);
  if (recipe.rows) refuse_data(flags);
  generated = flags.data.empty() && !recipe.rows;
  if (!flags.data.empty()) data = parse_data_spec(flags.data);

  ranks_here = launched && launched->size > 1 ? launched->local_size : options.ranks;
  options.threads = threads_per_rank(static_cast<int>(flags.threads), ranks_here);
  options.eval_batch = flags.batch.empty() ? 0 : batch_of(flags.batch);
  options.batch = flags.batch.empty() ? recipe.batch : options.eval_batch;
  options.seed = seed_of(flags.seed);
  options.dtype = *parse_dtype(flags.dtype);
  options.local_statistics = flags.ranks > 1 && (options.plan.parallel == "data" || options.plan.parallel == "hybrid");
  options.kernels = flags.kernels == "fast" ? KernelSet::fast : KernelSet::reference;
  options.schedule = recipe.schedule;
  const Shape& sample = recipe.image;
  if (recipe.tokens && flags.resize) {
    throw InvalidArgument(fmt::format("[--resize] {} reads no images, got --resize, expected none", flags.model));
  }
  if (recipe.rows)
    rows = {.dtype = options.dtype};
  else
    rows = {.image = recipe.tokens ? Type{} : Type{DType::u8, {sample.at(1), sample.at(2), sample.at(0)}},
            .tokens = recipe.tokens ? sample.at(0) : 0,
            .resize = flags.resize.value_or(0),
            .dtype = options.dtype,
            .seed = options.seed,
            .classes = static_cast<int>(recipe.classes),
            .augment = recipe.augment};
  options.warn = warn;
}

void Job::settle() {
  const std::optional<LaunchedRank> launched = this_rank();
  wait_passively(ranks_here, options.threads);
  warn_of_crowd(ranks_here, options.threads);
  console = std::make_unique<Console>(all_speak, log_dir);
  if (!launched || launched->size == 1) return;
  world = make_mpi_world();
  if (world->size() != launched->size || world->rank() != launched->rank) {
    throw InvalidArgument(
        fmt::format("[launch] {} and MPI disagree, got rank {} of {} from MPI, expected {} of {}: is it "
                    "the MPI that the program was built with (srun --mpi=pmix)?",
                    launched->launcher, world->rank(), world->size(), launched->rank, launched->size));
  }
  options.world = world.get();
}

DatasetPtr Job::dataset(Split split, const std::string& use) const {
  if (recipe.rows) {
    if (rows.dtype == DType::f32) return recipe.rows;
    std::vector<std::string> names;
    for (const Column& column : recipe.rows->columns()) names.push_back(column.name);
    return map(recipe.rows, names, cast(rows.dtype));
  }
  if (generated) {
    const std::string row = rows.tokens > 0 ? fmt::format("texts, {} letters", rows.tokens)
                                            : fmt::format("images, {}x{}", rows.image.shape[0], rows.image.shape[1]);
    std::cout << fmt::format("no data given: {} on a generated stand-in ({} {})\n", use,
                             split == Split::train ? kSyntheticTrainRows : kSyntheticTestRows, row);
  }
  return open_dataset(data, split, rows);
}

DatasetPtr Job::test_set() const {
  if (recipe.rows) return nullptr;
  if (has_files(data, Split::test)) return open_dataset(data, Split::test, rows);
  warn(fmt::format("[data] no test set in '{}': no accuracy will be printed", data.folder));
  return nullptr;
}

Graph model_graph(const std::string& model, int64_t batch, int ranks, bool training) {
  const auto [network, recipe] = make_model(model);
  const Column input = recipe.rows     ? input_column(*recipe.rows)
                       : recipe.tokens ? Column{"tokens", {DType::i32, recipe.image}}
                                       : Column{"image", {DType::f32, recipe.image}};
  const Type label = recipe.rows ? label_type(*recipe.rows) : Type{DType::i32, recipe.tokens ? recipe.image : Shape{}};
  return build_graph(*network, all_ops(),
                     {.batch = batch > 0 ? batch : recipe.batch,
                      .input = input.name,
                      .image = input.type.shape,
                      .training = training,
                      .loss = recipe.loss,
                      .norm_groups = training ? ranks : 1,
                      .image_dtype = input.type.dtype,
                      .label = label});
}

Program compile_on_ranks(const Graph& graph, int ranks, const CompileOptions& options) {
  const auto device = make_cpu_device(all_ops(), /*threads=*/1);
  return compile(graph, all_ops(), make_mesh(graph, ranks, options.plan), device->catalog(), options);
}

}  // namespace partita
