// Memory on a rank is the arena that its schedule says: what collectives stage lies in it, and steps allocate nothing.
//
// This program has a malloc of its own, which counts. Sanitizers have theirs, so these tests are skipped there.
// What oneDNN itself takes is not counted: on some instruction sets its products pack their operands into memory that
// it takes and gives back within a call.

#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "compiler/partition/collectives.h"
#include "frontend/data/readers/generated_rows.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "support/fake_accelerated.h"
#include "support/interpreted.h"
#include "training/model.h"
#include "zoo/zoo.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define PARTITA_COUNTS_ALLOCATIONS 0
#else
#define PARTITA_COUNTS_ALLOCATIONS 1
#endif

namespace {

constexpr size_t kLarge = 4096;

std::atomic<bool> counting{false};
std::atomic<int64_t> large_count{0}, large_total{0}, largest{0};

/// Allocations of this thread that may still succeed, not counting those inside the fake plugin; negative: no limit.
thread_local int64_t granted = -1;

}  // namespace

#if PARTITA_COUNTS_ALLOCATIONS
namespace {

struct AddressRange {
  uintptr_t begin = 0, end = 0;
  bool contains(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) >= begin && reinterpret_cast<uintptr_t>(address) < end;
  }
};

/// Where this process has loaded the library whose path contains `name`; no addresses when it has not.
AddressRange addresses_of(const char* name) {
  struct Search {
    const char* name;
    AddressRange found;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (std::strstr(info->dlpi_name, wanted.name) == nullptr) return 0;
        wanted.found = {UINTPTR_MAX, 0};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          wanted.found.begin = std::min(wanted.found.begin, uintptr_t{info->dlpi_addr + segment.p_vaddr});
          wanted.found.end = std::max(wanted.found.end, uintptr_t{info->dlpi_addr + segment.p_vaddr + segment.p_memsz});
        }
        return 1;
      },
      &search);
  return search.found;
}

AddressRange onednn;  // set before counting begins

/// Whether an allocation of this thread is to fail.
bool is_refused() {
  if (granted < 0 || partita::pjrt::FakePlugin::is_inside()) return false;
  if (granted == 0) return true;
  --granted;
  return false;
}

void count(size_t bytes, const void* caller) {
  if (!counting.load(std::memory_order_relaxed) || bytes < kLarge || onednn.contains(caller)) return;
  large_count.fetch_add(1);
  large_total.fetch_add(static_cast<int64_t>(bytes));
  int64_t before = largest.load();
  while (before < static_cast<int64_t>(bytes) && !largest.compare_exchange_weak(before, static_cast<int64_t>(bytes))) {
  }
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  count(bytes, __builtin_return_address(0));
  return is_refused() ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t items, size_t bytes) {
  count(items * bytes, __builtin_return_address(0));
  return __libc_calloc(items, bytes);
}
void* realloc(void* old, size_t bytes) {
  count(bytes, __builtin_return_address(0));
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  count(bytes, __builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count(bytes, __builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** place, size_t alignment, size_t bytes) noexcept {
  count(bytes, __builtin_return_address(0));
  *place = __libc_memalign(alignment, bytes);
  return *place == nullptr ? ENOMEM : 0;
}
}
#endif

namespace partita {
namespace {

/// "3 of at least 4096 bytes, the largest of 8192"; "" when there was none.
std::string counted() {
  counting = false;
  if (large_count == 0) return "";
  return fmt::format("{} of at least {} bytes, the largest of {}", large_count.load(), kLarge, largest.load());
}

void begin_counting() {
#if PARTITA_COUNTS_ALLOCATIONS
  onednn = addresses_of("libdnnl");
#endif
  large_count = 0;
  large_total = 0;
  largest = 0;
  counting = true;
}

bool counts() {
  begin_counting();
  std::free(std::malloc(2 * kLarge));  // NOLINT
  return !counted().empty();
}

#define SKIP_UNLESS_COUNTED() \
  if (!counts()) GTEST_SKIP() << "another malloc than glibc's"

struct CollectiveCase {
  const char* collective;
  int ranks;
  std::string body;
};

/// Values of 32 KiB and less between shardings that need each collective.
std::vector<CollectiveCase> plans() {
  const auto pair = [](const std::string& first, const std::string& second) {
    return fmt::format(R"(input %x: f64[64,64]
state %y: f64[64,64] statistic zeros
%a = relu(%x) : f64[64,64] ; forward shard={}
%b = sigmoid(%a) : f64[64,64] ; forward shard={}
store %y = %b
)",
                       first, second);
  };
  const auto product = [](const std::string& shard) {
    return fmt::format(R"(input %x: f64[64,64]
input %w: f64[64,64]
state %y: f64[64,64] statistic zeros
%a = matmul(%x, %w) : f64[64,64] ; forward shard={}
store %y = %a
)",
                       shard);
  };
  return {{"all_gather", 4, pair("((4,1))", "((1,1))")},
          {"all_gather", 4, pair("((1,4))", "((1,1))")},
          {"all_to_all", 4, pair("((4,1))", "((1,4))")},
          {"all_to_all", 3, pair("((3,1))", "((1,3))")},
          {"permute", 4, pair("[a=2,b=2]((a,None))", "[a=2,b=2]((b,None))")},
          {"all_reduce", 4, product("((1,4),(4,1))->((1,1))")},
          {"reduce_scatter", 4, product("((1,4),(4,1))->((4,1))")},
          {"reduce_scatter", 4, product("((1,4),(4,1))->((1,4))")},
          {"halo_exchange", 4, R"(input %x: f64[2,16,16,16]
input %w: f64[16,16,3,3]
state %y: f64[2,16,16,16] statistic zeros
%a = conv2d(%x, %w) {pads=[1,1,1,1]} : f64[2,16,16,16] ; forward shard=((1,1,4,1),(1,1,1,1))
store %y = %a
)"}};
}

/// Counts of allocations while executors are made, and in the last three of five steps.
std::pair<std::string, std::string> counts_of(const Program& program, KernelSet kernels) {
  std::pair<std::string, std::string> found;
  run_ranks(static_cast<int>(program.local().mesh.ranks()), [&](Communicator& world) {
    const auto alone = [&](const auto& fn) {
      world.barrier();
      if (world.rank() == 0) fn();
      world.barrier();
    };
    const auto device = make_cpu_device(all_ops(), 1, kernels);
    alone(begin_counting);
    Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
    alone([&] { found.first = counted(); });
    for (int step = 0; step < 2; ++step) executor.run();
    alone(begin_counting);
    for (int step = 0; step < 3; ++step) executor.run();
    alone([&] { found.second = counted(); });
  });
  return found;
}

TEST(Allocations, CollectivesStageInTheArena) {
  SKIP_UNLESS_COUNTED();
  for (const auto& [collective, ranks, body] : plans()) {
    SCOPED_TRACE(collective);
    const auto run = [&, ranks = ranks](std::string text, KernelSet kernels) {
      return expect_interpreted(parse_graph("partita graph 1\ngraph one\n" + text, all_ops()),
                                {.ranks = ranks,
                                 .kernels = kernels,
                                 .plan = {.parallel = Parallel::semi, .dataset = DatasetSharding::full_batch()},
                                 .tolerance = kernels == KernelSet::fast ? 1e-5 : 1e-12});
    };
    // Reference kernels need no memory to be made, the others none to run.
    const Program exact = run(body, KernelSet::reference);
    const auto& nodes = exact.local().graph.nodes;
    EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [&, op = collective](const Node& node) {
      return node.op == op;
    })) << print(exact.local(), all_ops());
    EXPECT_EQ(counts_of(exact, KernelSet::reference).first, "");
    std::string narrow = body;
    for (size_t at; (at = narrow.find("f64")) != std::string::npos;) narrow.replace(at, 3, "f32");
    EXPECT_EQ(counts_of(run(narrow, KernelSet::fast), KernelSet::fast).second, "");
  }
}

/// Counts from the end of the third step to that of the last.
class CountSteps : public Callback {
 public:
  void on_train_begin(const TrainInfo& info) override { last_ = info.steps; }
  void on_step_end(const StepInfo& info) override {
    if (info.global_step == 3) begin_counting();
    if (info.global_step == last_) found = counted();
  }
  std::string found = "not counted";

 private:
  int64_t last_ = 0;
};

struct Training {
  const char* model;
  int ranks;
  PlanOptions plan;
  int64_t batch;
};

void expect_steady(const Training& training) {
  const auto& [spec, ranks, plan, batch] = training;
  SCOPED_TRACE(fmt::format("{} on {} ranks, {} {}", spec, ranks, name_of(plan.parallel), print(plan.dataset)));
  const ZooModel model = make_model(spec);
  const DatasetPtr rows =
      generated_rows(model.columns(), 6 * batch, [](int64_t, int64_t index, std::span<const Tensor> row) {
        for (const Tensor& tensor : row) {
          for (int64_t i = 0; i < tensor.type.elements(); ++i) {
            const double value = static_cast<double>((index * 7 + i * 3) % 10);
            tensor.type.dtype == DType::f32 ? tensor.as<float>()[i] = static_cast<float>(value / 10)
                                            : tensor.as<int32_t>()[i] = static_cast<int32_t>(value);
          }
        }
      });
  JobConfig config = model.recipe;
  config.training.batch = batch;
  config.training.epochs = 1;
  config.ranks = {.count = ranks, .threads = 1};
  config.plan.options = plan;
  Model trained(model.network(config.training.loss), config);
  CountSteps count;
  trained.train(rows, {.callbacks = {&count}});
  EXPECT_EQ(count.found, "");
}

TEST(Allocations, StepsOfATrainingAllocateNothing) {
  SKIP_UNLESS_COUNTED();
  expect_steady({"mlp:hidden=64", 1, {.parallel = Parallel::none}, 16});
  expect_steady({"mlp:hidden=64", 4, {.parallel = Parallel::data}, 16});
  expect_steady({"mlp:hidden=64", 4, {.parallel = Parallel::hybrid}, 18});
  expect_steady({"mlp:hidden=64", 4, {.parallel = Parallel::automatic}, 16});
  // Ranks keep a part of the rows that they read.
  expect_steady({"mlp:hidden=64",
                 4,
                 {.parallel = Parallel::automatic, .dataset = parse_dataset_sharding("((4,1,1,1),(1))")},
                 16});
  expect_steady({"lenet", 3, {.parallel = Parallel::data}, 12});
  expect_steady({"resnet18:width=16,size=16", 2, {.parallel = Parallel::automatic}, 8});
}

/// Counts from the end of the last step of the first epoch to that of its validation.
class CountValidation : public Callback {
 public:
  void on_train_begin(const TrainInfo& info) override { steps_ = info.steps_per_epoch; }
  void on_step_end(const StepInfo& info) override {
    if (info.global_step == steps_) begin_counting();
  }
  void on_epoch_end(const EpochInfo&) override {
    counted();
    bytes = large_total;
  }
  int64_t bytes = -1;

 private:
  int64_t steps_ = 0;
};

// Validation needs memory for its own values alone: no rank gathers states, or holds them a second time.
TEST(Allocations, ValidationGathersNoStates) {
  SKIP_UNLESS_COUNTED();
  const ZooModel zoo = make_model("mlp:hidden=64,layers=24");
  std::vector<Column> columns = zoo.columns();
  columns[0].type.shape = {1, 8, 8};
  const auto rows_of = [&](int64_t count) {
    return generated_rows(columns, count, [](int64_t, int64_t index, std::span<const Tensor> row) {
      for (int64_t i = 0; i < row[0].type.elements(); ++i) row[0].as<float>()[i] = static_cast<float>((index + i) % 7);
      row[1].as<int32_t>()[0] = static_cast<int32_t>(index % 10);
    });
  };
  const int64_t weights = int64_t{25} * 4 * 64 * 64;  // the last layer is small
  for (const int stages : {1, 2}) {
    for (const int64_t level : {0, 1, 3}) {
      SCOPED_TRACE(fmt::format("{} stages, level {}", stages, level));
      JobConfig config = zoo.recipe;
      config.training.batch = 16;
      config.training.epochs = 1;
      config.evaluation.batch = 64;  // a value of a layer is larger than the least that is counted
      config.ranks = {.count = 4, .threads = 1};
      config.plan.options = {.parallel = Parallel::hybrid, .zero = {.level = level}, .pipeline = {.stages = stages}};
      if (level > 0) config.plan.options.zero.threshold = 0;
      Model model(zoo.network(Loss::sparse), config, Place{.cores = 1});
      CountValidation count;
      model.train(rows_of(32), {.validation = rows_of(129), .callbacks = {&count}});
      EXPECT_GT(count.bytes, 0);
      EXPECT_LT(count.bytes, 4 * weights);  // of four ranks, each with two programs
    }
  }
}

/// Runs a job of one rank on a fake plugin, whose steps may allocate `allowed` times. Returns whether it ended, and
/// checks that no run was in flight when its values were freed.
bool runs_with(int64_t allowed) {
  pjrt::FakePlugin fake;
  bool ends = true;
  {
    const Accelerator accelerator = Accelerator::of(pjrt::Plugin(fake.table(), "fake.so").make_client(), 0);
    Job job;
    job.forward = parse_graph(kFourLayers, all_ops());
    job.training.optimizer = {.kind = OptimizerKind::adamw};
    job.states = initial_states(job.forward, /*seed=*/3);
    job.micro_batches = 4;
    const Array x = random_array({DType::f64, {8, 6}}, 5);
    job.batch = [&](int) { return Arrays{{"x", x}}; };
    job.device = [&](int threads, KernelSet) { return make_device(all_ops(), accelerator, threads); };
    job.begin = [&](const Program&, Executor&, Communicator&) { granted = allowed; };
    try {
      run_job(job);
      granted = -1;
    } catch (const std::bad_alloc&) {
      granted = -1;
      ends = false;
    }
  }
  EXPECT_EQ(fake.forgotten, 0) << allowed;
  EXPECT_TRUE(fake.alive.empty()) << allowed << ": " << *fake.alive.begin();
  return ends;
}

TEST(Allocations, ALackOfMemoryLeavesNoRunInFlight) {
  SKIP_UNLESS_COUNTED();
  int64_t allowed = 0;
  while (!runs_with(allowed) && allowed < 10'000) ++allowed;
  EXPECT_GE(allowed, 50) << "a step allocates";
  EXPECT_LT(allowed, 10'000) << "a step ends";
}

}  // namespace
}  // namespace partita
