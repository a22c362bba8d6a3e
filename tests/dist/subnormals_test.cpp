// What becomes of subnormal numbers while a program runs: on every thread of every rank, with every set of kernels, and
// of the caller's own setting afterwards.

#include "base/subnormals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/ops/registry.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/shard_copy.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

constexpr int kThreads = 3;

bool can_flush() { return SubnormalSetting(Subnormals::flush) != SubnormalSetting(Subnormals::keep); }

int64_t count_unless_zero(const Array& array) {
  int64_t count = 0;
  for (int64_t i = 0; i < array.type().elements(); ++i) count += array.at(i) != 0 ? 1 : 0;
  return count;
}

/// The settings of the calling thread and of its OpenMP threads.
std::vector<SubnormalSetting> settings() {
  std::vector<SubnormalSetting> found(kThreads, SubnormalSetting(Subnormals::keep));
#pragma omp parallel for num_threads(kThreads) schedule(static, 1)
  for (int i = 0; i < kThreads; ++i) found[i] = SubnormalSetting::current();
  return found;
}

void set_all(Subnormals subnormals) {
#pragma omp parallel num_threads(kThreads)
  SubnormalSetting(subnormals).apply();
}

/// Every input of a graph, filled with one number each.
using Fills = std::map<std::string, double>;

Arrays filled(const Graph& graph, const Fills& fills) {
  Arrays arrays;
  for (const Input& input : graph.inputs) {
    const std::string& name = graph.values[input.value].name;
    Array array(graph.type(input.value));
    for (int64_t i = 0; i < array.type().elements(); ++i) array.set(i, fills.at(name));
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

struct Settings {
  int ranks = 1, threads = 1;
  KernelSet kernels = KernelSet::fast;
};

/// For the number of threads that ranks will have.
Program compiled(const Graph& graph, const Settings& settings, const std::optional<TrainingOptions>& training = {}) {
  const auto catalog = make_cpu_device(all_ops(), settings.threads, settings.kernels);
  catalog->enter_thread();
  Program program = compile(graph, all_ops(), catalog->catalog(), {.ranks = settings.ranks, .training = training});
  make_cpu_device(all_ops(), 1)->enter_thread();
  return program;
}

/// Runs a graph under data parallelism on threads with a setting of their own; `check` sees each output of each rank,
/// and the interpreter's.
void run_everywhere(const std::string& text, const Fills& fills,
                    const std::function<void(const std::string& output, const Array& value)>& check,
                    Subnormals own = Subnormals::keep) {
  const Graph graph = parse_graph(text, all_ops());
  const Arrays given = filled(graph, fills);
  set_all(own);
  const Arrays interpreted = interpret_all(graph, all_ops(), given).outputs;
  set_all(Subnormals::keep);
  for (const auto& [name, value] : interpreted) check(name, value);
  for (const Settings& settings : {Settings{1, 1}, Settings{1, kThreads}, Settings{1, 1, KernelSet::reference},
                                   Settings{2, 2}, Settings{3, 1}, Settings{4, 1, KernelSet::reference}}) {
    if (!can_run(settings.ranks)) continue;
    const Program program = compiled(graph, settings);
    const Mesh& mesh = program.local().mesh;
    on_ranks(settings.ranks, [&](Communicator& world) {
      const auto device = make_cpu_device(all_ops(), settings.threads, settings.kernels);
      Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
      for (const Input& input : program.local().graph.inputs) {
        const std::string& name = program.local().graph.values[input.value].name;
        Array part(executor.input_type(name));
        copy_part(given.at(name).tensor(),
                  local_ranges(program.local().graph.type(input.value), program.local().shardings[input.value], mesh,
                               mesh.coordinates(world.rank())),
                  part.data());
        executor.set_input(name, std::as_const(part).tensor());
      }
      set_all(own);
      executor.run();
      set_all(Subnormals::keep);
      for (const Output& output : graph.outputs) check(output.name, executor.output(output.name));
    });
  }
}

// Large enough that every thread has a part.
std::string work(const std::string& dtype) {
  return fmt::format(R"(partita graph 1
graph work
input %small: {0}[1536,64] batch=0
input %subnormal: {0}[1536,64] batch=0
input %weight: {0}[64,64]
%square = mul(%small, %small) : {0}[1536,64]
%sum = add(%subnormal, %subnormal) : {0}[1536,64]
%product = matmul(%small, %weight) : {0}[1536,64]
%read = matmul(%subnormal, %weight) : {0}[1536,64]
%exp = sigmoid(%subnormal) : {0}[1536,64]
%total = reduce(%subnormal) {{kind=sum, axes=[0,1]}} : {0}[]
%partial = matmul(%small, %small) {{transpose_a=true, transpose_b=false}} : {0}[64,64]
output square = %square
output sum = %sum
output product = %product
output read = %read
output half = %exp
output total = %total
output partial = %partial
)",
                     dtype);
}

TEST(SubnormalNumbers, AreZeroInF32) {
  if (!can_flush()) GTEST_SKIP() << "this processor has no such setting";
  run_everywhere(work("f32"), {{"small", 1e-21}, {"subnormal", 1e-39}, {"weight", 1e-21}},
                 [](const std::string& output, const Array& value) {
                   const int64_t nonzero = output == "half" ? value.type().elements() : 0;
                   EXPECT_EQ(count_unless_zero(value), nonzero) << output;
                 });
}

TEST(SubnormalNumbers, AreExactInF64) {
  // What the sums of 64 and of 1536 products, and of all elements, must be; each is subnormal.
  const std::map<std::string, double> expected{{"square", 1e-314},    {"sum", 2e-312}, {"product", 64e-314},
                                               {"read", 0},           {"half", 0.5},   {"total", 1536 * 64e-312},
                                               {"partial", 1536e-314}};
  run_everywhere(work("f64"), {{"small", 1e-157}, {"subnormal", 1e-312}, {"weight", 1e-157}},
                 [&](const std::string& output, const Array& value) {
                   for (int64_t i = 0; i < value.type().elements(); ++i) {
                     ASSERT_NEAR(value.at(i), expected.at(output), 1e-6 * expected.at(output)) << output << " " << i;
                   }
                 });
}

// Each instruction by its own types: what works on f64 is exact in a program that is otherwise of f32.
constexpr const char* kMixed = R"(partita graph 1
graph mixed
input %x: f32[1536,64] batch=0
%wide = cast(%x) {dtype=f64} : f64[1536,64]
%square = mul(%wide, %wide) : f64[1536,64]
%narrow = cast(%wide) {dtype=f32} : f32[1536,64]
%moved = reshape(%narrow) {shape=[1536,8,8]} : f32[1536,8,8]
%sum = add(%narrow, %narrow) : f32[1536,64]
%again = cast(%sum) {dtype=f64} : f64[1536,64]
output wide = %wide
output square = %square
output moved = %moved
output sum = %sum
output again = %again
)";

TEST(SubnormalNumbers, FollowTheTypesOfEachInstruction) {
  if (!can_flush()) GTEST_SKIP() << "this processor has no such setting";
  const double x = static_cast<float>(1e-40);
  const std::map<std::string, double> expected{{"wide", x}, {"square", x * x}, {"moved", x}, {"sum", 0}, {"again", 0}};
  run_everywhere(kMixed, {{"x", 1e-40}}, [&](const std::string& output, const Array& value) {
    for (int64_t i = 0; i < value.type().elements(); ++i) {
      ASSERT_EQ(value.at(i), expected.at(output)) << output << " " << i;
    }
  });
}

// The subnormal numbers of f16 are ordinary ones of f32, in which it computes.
TEST(SubnormalNumbers, OfF16AreKeptAndOfBf16AreZero) {
  if (!can_flush()) GTEST_SKIP() << "this processor has no such setting";
  const auto text = [](const char* dtype) {
    return fmt::format(
        "partita graph 1\ngraph sum\ninput %x: {0}[24,4] batch=0\n%sum = add(%x, %x) : {0}[24,4]\noutput sum = %sum\n",
        dtype);
  };
  const double tiny = 3 * std::ldexp(1.0, -24);
  const auto expect = [](double wanted) {
    return [wanted](const std::string&, const Array& value) {
      for (int64_t i = 0; i < value.type().elements(); ++i) EXPECT_EQ(value.at(i), wanted);
    };
  };
  run_everywhere(text("f16"), {{"x", tiny}}, expect(2 * tiny));
  run_everywhere(text("bf16"), {{"x", 1e-39}}, expect(0));
}

// Sums of messages flush subnormal numbers, too, in every thread that adds, asynchronous collectives included.
TEST(SubnormalNumbers, AreZeroInReductionsOfF32) {
  if (!can_flush()) GTEST_SKIP() << "this processor has no such setting";
  for (int ranks : {2, 3, 4}) {
    if (!can_run(ranks)) continue;
    on_ranks(ranks, [&](Communicator& world) {
      for (const int64_t count : {5, 200'000}) {  // one rank adds for all, or each its part
        std::vector<float> narrow(count, 1e-39F);
        std::vector<double> wide(count, 1e-312);
        world.all_reduce(narrow.data(), count, DType::f32, Reduce::sum);
        world.all_reduce(wide.data(), count, DType::f64, Reduce::sum);
        EXPECT_EQ(std::count(narrow.begin(), narrow.end(), 0.0F), count);
        double expected = 1e-312;
        for (int rank = 1; rank < ranks; ++rank) expected += 1e-312;
        EXPECT_EQ(std::count(wide.begin(), wide.end(), expected), count);
        EXPECT_EQ(SubnormalSetting::current(), SubnormalSetting(Subnormals::keep));
      }
    });
  }
}

Job mlp_job(DType dtype) {
  Job job = model_job("mlp:hidden=64", {.dtype = dtype, .image = {1, 16, 16}, .batch = 96, .steps = 1});
  job.kernels = KernelSet::fast;
  return job;
}

/// With zeros for all that is not given.
Arrays complete(const Graph& graph, Arrays given) {
  for (const Input& input : graph.inputs) {
    given.try_emplace(graph.values[input.value].name, graph.type(input.value));
  }
  for (const State& state : graph.states) {
    given.try_emplace(graph.values[state.entry].name, graph.type(state.entry));
  }
  return given;
}

// After a run, and after one that fails in the middle.
TEST(SubnormalNumbers, TheCallerKeepsItsSetting) {
  for (const Subnormals own : {Subnormals::keep, Subnormals::flush}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const bool fails : {false, true}) {
        const Job job = mlp_job(dtype);
        const Program program = compiled(job.forward, {.threads = kThreads}, job.training);
        on_ranks(1, [&](Communicator& world) {
          const auto device = make_cpu_device(all_ops(), kThreads);
          Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
          Arrays batch = job.batch(0);
          if (fails) batch.at("image").set(0, NAN);
          for (const auto& [name, array] : batch) executor.set_input(name, std::as_const(array).tensor());
          set_all(own);
          const std::vector<SubnormalSetting> before = settings();
          if (fails) {
            EXPECT_THROW(executor.step(), RuntimeFailure);
          } else {
            executor.step();
          }
          EXPECT_EQ(settings(), before);
          EXPECT_EQ(before, std::vector<SubnormalSetting>(kThreads, SubnormalSetting(own)));
          interpret_all(program.graph, all_ops(), complete(program.graph, batch));
          EXPECT_EQ(settings(), before);
          set_all(Subnormals::keep);
        });
      }
    }
  }
}

TEST(SubnormalNumbers, AreExactInF64OfACallerThatFlushes) {
  run_everywhere(
      kMixed, {{"x", 1e-40}},
      [&](const std::string& output, const Array& value) {
        if (output == "square") {
          EXPECT_EQ(count_unless_zero(value), value.type().elements());
        }
      },
      Subnormals::flush);
}

}  // namespace
}  // namespace partita
