// Checkpoints under random plans: saved by some ranks under one plan, loaded by others under another.
// PARTITA_ROUND_TRIPS says how many pairs of each model, by default 2.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "runtime/checkpoint/saved_states.h"
#include "support/job.h"
#include "support/random_plan.h"
#include "support/ranks.h"
#include "training/rank_run.h"

namespace partita {
namespace {

struct CheckpointedModel {
  std::string spec;
  TestedJob options;
};

const std::vector<CheckpointedModel> kCheckpointedModels{
    {"mlp:layers=2,hidden=37", {.batch = 24}},
    {"lenet", {.image = {1, 28, 28}, .batch = 12}},
    {"resnet18", {.image = {3, 8, 8}, .batch = 6}},
    {"gpt:layers=2,hidden=24,heads=4,seq=6,vocab=29", {.batch = 12}},
    {"llama:layers=2,hidden=24,heads=4,kv_heads=2,seq=6,vocab=29", {.batch = 12}},
    {"moe:layers=1,hidden=16,heads=2,seq=6,vocab=12,experts=4,top_k=2", {.batch = 12}},
};

/// How many ranks hold the states, in how many stages, cut how.
void draw_plan(Job& job, Dice& dice) {
  job.ranks = static_cast<int>(1 + dice.below(8));
  const int64_t groups = 1 + dice.below(std::min(3, job.ranks)), interleave = groups > 1 ? 1 + dice.below(2) : 1;
  job.pipeline = {.stages = groups * interleave, .interleave = interleave};
  if (interleave > 1) job.pipeline.order = Order::interleaved;
  job.micro_batches = groups > 1 ? 2 : 1;
  job.zero = {.level = dice.below(4), .threshold = 0};
  const auto seed = static_cast<uint64_t>(dice.below(int64_t{1} << 40));
  const bool divides = groups == 1 && job.batch(0).begin()->second.shape()[0] % job.ranks == 0;
  job.stage_plan = nullptr;
  if (divides && dice.below(2) == 0) return;  // data parallel
  job.stage_plan = [seed](const Graph& graph, int64_t ranks) {
    std::vector<std::pair<std::string, int64_t>> axes{{"a", ranks}};
    for (const int64_t size : {2, 3}) {
      if (ranks % size == 0 && ranks > size) axes = {{"a", ranks / size}, {"b", size}};
    }
    return random_plan(graph, Mesh(axes), seed);
  };
}

/// Runs the job; if its cuts do not allow as many micro-batches, runs it with one.
JobResult run_drawn_job(Job& job) {
  try {
    return run_job(job);
  } catch (const InvalidArgument& error) {
    if (job.micro_batches == 1) throw;
    job.micro_batches = 1;
    if (job.pipeline.interleave > 1) job.pipeline.order = Order::one_forward_one_backward;
    return run_job(job);
  }
}

std::string newest_in(const std::filesystem::path& folder) {
  return newest_checkpoint(folder.string(), [](const std::string& message) { ADD_FAILURE() << message; })->path;
}

void save_to(Job& job, const CheckpointOptions& options, int64_t step) {
  job.end = [&options, step](const Program& program, Executor& executor, Communicator& world) {
    CheckpointSaving saving(options, program, executor, world);
    saving.save({.position = {.step = step, .batch = 1, .rows = 1}});
    saving.finish();
    EXPECT_EQ(saving.error(), "");
    EXPECT_EQ(saving.last_saved(), step);
  };
}

void load_from(Job& job, const std::string& path) {
  job.begin = [path](const Program&, Executor& executor, Communicator&) {
    CheckpointReader reader(path);
    fill_states(executor, [&](const std::string& name, const Box& box, DType dtype, void* to) {
      reader.read(name, box, dtype, to);
    });
  };
}

class Checkpoints : public testing::TestWithParam<CheckpointedModel> {};

TEST_P(Checkpoints, GoOnUnderAnyPlan) {
  constexpr int kSteps = 2;
  const char* asked = std::getenv("PARTITA_ROUND_TRIPS");
  const auto& [spec, options] = GetParam();
  const bool trains = asked != nullptr || !spec.starts_with("resnet");  // for long
  const int pairs = asked != nullptr ? std::atoi(asked) : trains ? 2 : 1;
  const Job base = model_job(spec, options);
  Job whole = base;
  whole.steps = trains ? 2 * kSteps : 0;
  const JobResult oracle = run_job(whole);
  for (int pair = 0; pair < pairs; ++pair) {
    const TempDir folder;
    Dice dice(static_cast<uint64_t>(pair) * 7919 + spec.size());
    Job before = base, after = base, copy = base;
    before.steps = after.steps = trains ? kSteps : 0;
    CheckpointOptions first{.folder = (folder.path() / "a").string(), .asynchronous = pair % 2 == 0};
    CheckpointOptions second{.folder = (folder.path() / "b").string(), .integrated = pair % 4 == 3};
    draw_plan(before, dice);
    draw_plan(after, dice);
    save_to(before, first, kSteps);
    run_drawn_job(before);
    const std::string path = newest_in(first.folder);
    // What is loaded and saved at once under another plan is the same.
    load_from(after, path);
    copy = after;
    copy.steps = 0;
    save_to(copy, second, kSteps);
    run_drawn_job(copy);
    SavedStates a(path), b(second.folder);
    const std::vector<StateDifference> differences = compare_states(a, b);
    EXPECT_TRUE(differences.empty()) << differences[0].name << ": " << differences[0].what;
    if (!trains) continue;
    // And the training goes on with it.
    after.first_step = kSteps;
    JobResult result = run_drawn_job(after);
    result.losses.insert(result.losses.begin(), oracle.losses.begin(), oracle.losses.begin() + kSteps);
    expect_same_training(result, oracle, 1e-9,
                         fmt::format("{}, pair {}: {} ranks and {} stages, then {} and {}", spec, pair, before.ranks,
                                     before.pipeline.stages, after.ranks, after.pipeline.stages));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Checkpoints, testing::ValuesIn(kCheckpointedModels),
                         [](const auto& info) { return info.param.spec.substr(0, info.param.spec.find(':')); });

/// All ranks but one in eight read nothing.
TEST(CheckpointReading, AShareReadsItsBytesAlone) {
  const TempDir folder;
  Job job = model_job("mlp:layers=2,hidden=1024", {.dtype = DType::f32, .batch = 6});
  job.steps = 0;
  job.ranks = 3;
  const CheckpointOptions options{.folder = folder.path().string()};
  save_to(job, options, 1);
  run_job(job);
  const std::string path = newest_in(folder.path());
  const auto manifest = CheckpointReader(path).manifest();
  for (const bool by_columns : {false, true}) {
    for (int64_t part = 0; part < 8; ++part) {
      CheckpointReader reader(path, manifest);
      int64_t wanted = 0;
      for (const ManifestTensor& tensor : manifest->tensors) {
        Box box = whole_box(tensor.type.shape);
        if (box.empty()) continue;
        const size_t dim = by_columns ? box.size() - 1 : 0;
        box[dim] = chunk(tensor.type.shape[dim], part, 8);
        Array values(Type{tensor.type.dtype, shape_of(box)});
        reader.read(tensor.name, box, tensor.type.dtype, values.data());
        wanted += values.type().bytes();
      }
      EXPECT_LE(static_cast<double>(reader.bytes_read()), 1.05 * static_cast<double>(manifest->tensor_bytes()) / 8)
          << "part " << part << (by_columns ? " of columns" : " of rows") << ", of " << wanted << " bytes";
    }
  }
}

// Ranks that hold the same share the work, and no rank writes what it does not hold.
TEST(CheckpointWriting, ReplicasShareTheWork) {
  const TempDir folder;
  Job job = model_job("mlp:layers=2,hidden=1024", {.dtype = DType::f32, .batch = 8});
  job.steps = 0;
  job.ranks = 4;
  const CheckpointOptions options{.folder = folder.path().string()};
  save_to(job, options, 1);
  run_job(job);
  const Manifest manifest = read_manifest(newest_in(folder.path()));
  ASSERT_EQ(manifest.files.size(), 4u);
  for (const ManifestFile& file : manifest.files) {
    EXPECT_NEAR(static_cast<double>(file.bytes), static_cast<double>(manifest.tensor_bytes()) / 4,
                0.02 * static_cast<double>(manifest.tensor_bytes()));
  }
}

/// Parts of states that lie in formats of kernels, on this rank.
std::vector<std::string> formatted_states(const Executor& executor) {
  std::vector<std::string> names;
  for (const auto& stage : executor.stages()) {
    for (const State& state : stage->local().graph.states) {
      const std::string& name = stage->local().graph.values[static_cast<size_t>(state.entry)].name;
      if (stage->state_reader(name).dense() == nullptr) names.push_back(name);
    }
  }
  return names;
}

/// Saved in both ways, a checkpoint has what the executor says.
void expect_saved_states(const CheckpointOptions& asynchronous, const CheckpointOptions& at_once,
                         const Program& program, Executor& executor, Communicator& world) {
  EXPECT_FALSE(formatted_states(executor).empty());
  for (const CheckpointOptions* options : {&asynchronous, &at_once}) {
    CheckpointSaving saving(*options, program, executor, world);
    saving.save({.position = {.step = 1, .batch = 1, .rows = 1}});
    saving.finish();
    ASSERT_EQ(saving.error(), "");
    world.barrier();
    CheckpointReader reader(newest_in(options->folder));
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[static_cast<size_t>(state.entry)].name;
      const Array expected = executor.state(name);
      Array got(expected.type());
      reader.read(name, whole_box(got.type().shape), got.type().dtype, got.data());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), static_cast<size_t>(got.type().bytes())), 0) << name;
    }
    world.barrier();
  }
}

// Ranks that hold the same share the work: pieces are parts of what is made dense.
TEST(CheckpointWriting, FormatsOfFastKernelsAreMadeDense) {
  // Rows of resnet18's kernels are whole lines of the cache, those of lenet's are not.
  for (const auto& [model, ranks, threads] :
       {std::tuple{"lenet", 1, 1}, {"lenet", 1, 3}, {"lenet", 3, 2}, {"resnet18", 1, 2}, {"resnet18", 3, 1}}) {
    SCOPED_TRACE(fmt::format("{}, {} ranks x {} threads", model, ranks, threads));
    const TempDir folder;
    Job job = model_job(model, {.dtype = DType::f32, .batch = 6});
    job.steps = 1;
    job.ranks = ranks;
    job.threads = threads;
    const CheckpointOptions asynchronous{.folder = (folder.path() / "a").string()};
    const CheckpointOptions at_once{.folder = (folder.path() / "b").string(), .asynchronous = false};
    job.end = [&](const Program& program, Executor& executor, Communicator& world) {
      expect_saved_states(asynchronous, at_once, program, executor, world);
    };
    run_job(job);
  }
}

TEST(CheckpointWriting, NaNInAFormatOfFastKernelsIsRefused) {
  const TempDir folder;
  Job job = model_job("lenet", {.dtype = DType::f32, .batch = 6});
  job.steps = 0;
  job.threads = 2;
  const CheckpointOptions options{.folder = folder.path().string()};
  job.end = [&](const Program& program, Executor& executor, Communicator& world) {
    const std::vector<std::string> formatted = formatted_states(executor);
    ASSERT_FALSE(formatted.empty());
    const std::string& name = formatted.back();
    Array values = executor.state(name);
    values.set(values.type().elements() - 1, std::numeric_limits<double>::quiet_NaN());
    executor.set_state(name, values);
    CheckpointSaving saving(options, program, executor, world);
    saving.save({.position = {.step = 1, .batch = 1, .rows = 1}});
    try {
      saving.finish();
      ADD_FAILURE() << name << " was saved";
    } catch (const RuntimeFailure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::non_finite);
      EXPECT_NE(std::string(failure.what()).find("'" + name + "' is not finite"), std::string::npos) << failure.what();
    }
    executor.set_state(name, Array(values.type()));  // run_job looks at the states
  };
  run_job(job);
  EXPECT_TRUE(list_checkpoints(folder.path().string()).empty());
}

}  // namespace
}  // namespace partita
