// Failures of an accelerator end the step on every rank, with a message that says where. The plugin is a fake
// one, whose programs compute nothing (runtime/pjrt/test_fake_plugin.h).

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>

#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/pjrt/test_fake_plugin.h"
#include "support/forwarding_communicator.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

using pjrt::ErrorCode;
using pjrt::FakePlugin;
using pjrt::Function;

constexpr std::string_view kFourLayers = R"(partita graph 1
graph layers
input %x: f64[8,6] batch=0
state %w: f64[6,6] parameter constant(0.1)
state %v: f64[6,6] parameter constant(0.2)
state %u: f64[6,4] parameter constant(0.3)
%a = matmul(%x, %w) : f64[8,6] ; scope=net/first
%b = tanh(%a) : f64[8,6] ; scope=net/first
%c = matmul(%b, %v) : f64[8,6] ; scope=net/second
%d = tanh(%c) : f64[8,6] ; scope=net/second
%e = matmul(%d, %u) : f64[8,4] ; scope=net/last
%f = square(%e) : f64[8,4]
%loss = reduce(%f) {axes=[0,1], scale=0.1} : f64[]
output loss = %loss
)";

/// A fake plugin, and jobs on its first device. Whoever hangs is ended by the alarm.
class FakeAccelerated : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks_are_processes()) GTEST_SKIP() << "a process that fails is ended by its launcher";
    ::alarm(300);
    start();
  }
  void TearDown() override {
    ::alarm(0);
    stop();
  }

  void start() {
    stop();
    fake_ = std::make_unique<FakePlugin>();
    const pjrt::Client client = pjrt::Plugin(fake_->table(), "fake.so").make_client();
    accelerator_.emplace(Accelerator::of(client, 0));
    second_.emplace(Accelerator::of(client, 1));
  }
  void stop() {
    if (fake_ == nullptr) return;
    accelerator_.reset();
    second_.reset();
    EXPECT_TRUE(fake_->alive.empty()) << *fake_->alive.begin();
    fake_.reset();
  }

  Job job(int ranks, int64_t micro_batches = 1) {
    Job job;
    job.forward = parse_graph(kFourLayers, all_ops());
    job.training.optimizer = {.kind = OptimizerKind::adamw};
    job.states = initial_states(job.forward, /*seed=*/3);
    job.ranks = ranks;
    job.micro_batches = micro_batches;
    job.steps = 2;
    job.batch = [](int) {
      Arrays batch;
      batch.emplace("x", random_array({DType::f64, {8, 6}}, 5));
      return batch;
    };
    on_fake(job);
    return job;
  }

  void on_fake(Job& job) {
    job.device = [this](int threads, KernelSet) { return make_device(all_ops(), *accelerator_, threads); };
  }

  /// A job of two ranks, each on a device of its own, with collectives in programs.
  Job whole_job() {
    Job job = this->job(2);
    job.device = [this](int threads, KernelSet) {
      return make_device(all_ops(), next_++ % 2 == 0 ? *accelerator_ : *second_, threads, CollectiveMode::whole);
    };
    return job;
  }

  std::unique_ptr<FakePlugin> fake_;
  std::optional<Accelerator> accelerator_, second_;
  std::atomic<int> next_ = 0;
};

/// Returns the message and the exit code of what an action throws; "" and ok if it throws nothing.
std::pair<std::string, ExitCode> failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {"", ExitCode::ok};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(FakeAccelerated, TrainsAndLeavesNothing) {
  for (const int ranks : {1, 2}) {
    Job trained = job(ranks, 4);
    trained.zero = {.level = ranks == 1 ? 0 : 3, .threshold = 0};
    const JobResult result = run_job(trained);
    EXPECT_EQ(result.losses.size(), 2u);
    EXPECT_GE(fake_->max_in_flight, 3) << "runs are started without waiting";
  }
}

struct Expected {
  ExitCode exit = ExitCode::internal;
  std::string begin, end;  // parts of the message before and after the place
};

/// Returns what an error of a function of the plugin becomes.
Expected expected_for(ErrorCode code, Function function) {
  const int number = static_cast<int>(code);
  switch (code) {
    case ErrorCode::resource_exhausted:
      return {ExitCode::out_of_memory, "[memory] out of memory: the device: as the test wants: ", ""};
    case ErrorCode::unavailable:
    case ErrorCode::internal:
    case ErrorCode::data_loss:
    case ErrorCode::aborted:
      if (function == Function::client_compile) break;
      return {ExitCode::peer_lost,
              fmt::format("[device] the device was lost, got code {} of {}: as the test wants: ", number,
                          name_of(function)),
              ", expected a device that answers"};
    default: break;
  }
  return {ExitCode::internal,
          fmt::format("[device] fake.so: {} failed with code {}: as the test wants: ", name_of(function), number), ""};
}

TEST_F(FakeAccelerated, EveryErrorNamesItsPlaceAndItsRank) {
  for (const auto& [function, place] : {std::pair{Function::client_compile, "in the program of "},
                                        {Function::loaded_executable_execute, "in the program of "},
                                        {Function::client_buffer_from_host, ", which goes to the device on rank "},
                                        {Function::buffer_to_host, ", which comes from the device on rank "}}) {
    for (int code = 1; code <= 16; ++code) {
      for (const int call : {0, 1, 5}) {
        start();
        Job failing = job(2, 4);
        // Two flags of each rank are uploaded before all values.
        if (call > 0) fake_->failing_call[function] = function == Function::client_buffer_from_host ? call + 4 : call;
        fake_->failing[function] = static_cast<ErrorCode>(code);
        if (call == 0 && function == Function::client_buffer_from_host) continue;
        const auto [message, exit] = failure_of([&] { run_job(failing); });
        if (function == Function::client_compile && call == 5 && message.empty()) continue;  // it has fewer programs
        const Expected expected = expected_for(static_cast<ErrorCode>(code), function);
        EXPECT_EQ(exit, expected.exit) << message;
        EXPECT_TRUE(message.starts_with(expected.begin)) << message;
        EXPECT_TRUE(has(message, place)) << message;
        EXPECT_TRUE(message.ends_with(" on rank 0" + expected.end) || message.ends_with(" on rank 1" + expected.end))
            << message;
      }
    }
  }
}

TEST_F(FakeAccelerated, ARunThatFailsLateNamesItsProgram) {
  int runs = 0;
  run_job(job(2, 4));
  runs = fake_->calls[Function::loaded_executable_execute];
  ASSERT_GT(runs, 12);
  for (int call = 1; call <= runs; ++call) {
    for (const ErrorCode code : {ErrorCode::internal, ErrorCode::resource_exhausted, ErrorCode::unavailable}) {
      start();
      Job failing = job(2, 4);
      fake_->failing_later[Function::loaded_executable_execute] = code;
      fake_->failing_call[Function::loaded_executable_execute] = call;
      const auto [message, exit] = failure_of([&] { run_job(failing); });
      const Expected expected = expected_for(code, Function::loaded_executable_execute);
      EXPECT_EQ(exit, expected.exit) << call << ": " << message;
      EXPECT_TRUE(message.starts_with(expected.begin + "in the program of ")) << call << ": " << message;
      EXPECT_EQ(has(message, "of results, 0 bytes of them in place, and 64 bytes of temporaries"),
                code == ErrorCode::resource_exhausted)
          << message;
    }
  }
}

/// Sets the states and the inputs of an executor.
void prepare(Executor& executor, const Program& program, const Job& job) {
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.values[state.entry].name;
    const auto given = job.states.find(name);
    executor.set_state(name, given != job.states.end() ? given->second : Array(program.graph.type(state.entry)));
  }
  const Array x = job.batch(0).at("x");
  Array rate({DType::f64, {}});
  executor.set_input("learning_rate", std::as_const(rate).tensor());
  const LocalGraph& local = executor.stages()[0]->local();
  const ValueId value = local.graph.input("x");
  for (int64_t m = 0; m < local.mesh.micro_batches(); ++m) {
    std::vector<int64_t> coordinates = executor.stages()[0]->coordinates();
    if (local.mesh.micro_axis() >= 0) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
    executor.set_input("x", x.tensor(),
                       local_ranges(local.graph.type(value), local.shardings[value], local.mesh, coordinates), m);
  }
}

TEST_F(FakeAccelerated, OneRankThatFailsEndsTheOther) {
  for (const int failing : {0, 1}) {
    start();
    const Job job = this->job(2);
    const Program program = compile_job(job);
    std::mutex mutex;
    std::map<int, std::string> messages;
    const auto [first, code] = failure_of([&] {
      on_ranks(2, [&](Communicator& world) {
        const auto device = job.device(1, KernelSet::reference);
        Executor executor(program.pipeline, program.stages, all_ops(), *device, world);
        prepare(executor, program, job);
        executor.step();
        world.barrier();
        if (world.rank() == failing) {
          fake_->failing_later[Function::loaded_executable_execute] = ErrorCode::unavailable;
          fake_->failing_call[Function::loaded_executable_execute] =
              fake_->calls[Function::loaded_executable_execute] + 1;
          executor.step();
        } else {
          try {
            world.barrier();  // the other rank never comes
          } catch (const Error& error) {
            const std::lock_guard lock(mutex);
            messages[world.rank()] = error.what();
            throw;
          }
        }
      });
    });
    EXPECT_EQ(code, ExitCode::peer_lost);
    EXPECT_TRUE(has(first, fmt::format(" on rank {},", failing))) << first;
    EXPECT_TRUE(has(messages[1 - failing], fmt::format("rank {}: {}", failing, first))) << messages[1 - failing];
  }
}

/// Runs a step of one rank in which the run `from_last` runs before the last one fails; returns its error.
std::string fail_run(FakePlugin& fake, Executor& executor, int runs, int from_last, bool late) {
  auto& failing = late ? fake.failing_later : fake.failing;
  failing[Function::loaded_executable_execute] = ErrorCode::unknown;
  fake.failing_call[Function::loaded_executable_execute] =
      fake.calls[Function::loaded_executable_execute] + runs - from_last;
  const std::string message = failure_of([&] { executor.step(); }).first;
  failing.clear();
  return message;
}

TEST_F(FakeAccelerated, AFailedUpdateLosesTheStates) {
  for (const bool late : {false, true}) {
    start();
    Job job = this->job(1);
    job.steps = 1;
    job.end = [&](const Program& program, Executor& executor, Communicator&) {
      const auto executions = [&] { return fake_->calls[Function::loaded_executable_execute]; };
      const int before = executions();
      executor.step();
      const int runs = executions() - before;
      ASSERT_GE(runs, 2);
      EXPECT_TRUE(has(fail_run(*fake_, executor, runs, runs - 1, late), " failed with code 2: "));
      EXPECT_EQ(failure_of([&] { executor.state("w"); }).first, "") << "what fails before the update changes no state";
      executor.step();
      const std::string message = fail_run(*fake_, executor, runs, 0, late);
      EXPECT_TRUE(has(message, " failed with code 2: ")) << message;
      for (const std::function<void()>& use : std::vector<std::function<void()>>{
               [&] { executor.state("w"); }, [&] { executor.bring_states(); }, [&] { executor.state_part("v"); }}) {
        const auto [lost, code] = failure_of(use);
        EXPECT_TRUE(lost.starts_with("[device] a state that is lost, got ")) << lost;
        EXPECT_TRUE(lost.ends_with(", expected one that no failed update was to write: " + message)) << lost;
        EXPECT_EQ(code, ExitCode::internal);
      }
      EXPECT_TRUE(has(failure_of([&] { executor.step(); }).first, "a state that is lost, got "));
      prepare(executor, program, job);
      EXPECT_EQ(failure_of([&] { executor.step(); }).first, "") << "states that are set again are there";
    };
    run_job(job);
  }
}

TEST_F(FakeAccelerated, AForkedProcessUsesNothing) {
  Job job = this->job(1);
  job.end = [](const Program&, Executor& executor, Communicator&) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto [message, code] = failure_of([&] { executor.step(); });
      const bool is_right = code == ExitCode::usage && has(message, "no device survives a fork");
      if (!is_right) fmt::print("{}\n", message);
      ::_exit(is_right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    executor.step();
  };
  run_job(job);
}

/// Fails in one call of one rank.
class FailingReduction final : public ForwardingCommunicator {
 public:
  FailingReduction(Communicator& inner, int& left) : ForwardingCommunicator(inner), left_(left) {}
  FailingReduction(std::unique_ptr<Communicator> inner, int& left)
      : ForwardingCommunicator(std::move(inner)), left_(left) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<FailingReduction>(inner().split(members, timeout), left_);
  }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    if (--left_ == 0) throw RuntimeFailure(ExitCode::cannot_write, "[test] as the test wants");
    ForwardingCommunicator::all_reduce(data, count, dtype, reduce, timeout);
  }

 private:
  int& left_;
};

TEST_F(FakeAccelerated, ARankThatThrowsEndsAllRanks) {
  int calls = 0;
  for (bool fails = true; fails; ++calls) {
    start();
    Job failing = job(2, 2);
    failing.schedule.overlap = false;
    int left = calls + 1;
    failing.wrap = [&](Communicator& world) -> std::unique_ptr<Communicator> {
      if (world.rank() != 1) return nullptr;
      return std::make_unique<FailingReduction>(world, left);
    };
    const auto [message, code] = failure_of([&] { run_job(failing); });
    fails = !message.empty();
    if (fails) EXPECT_EQ(message, "[test] as the test wants");
    if (fails) EXPECT_EQ(code, ExitCode::cannot_write);
  }
  EXPECT_GE(calls, 3) << "reductions of two steps";
  start();
  Job early = job(2);
  early.begin = [](const Program&, Executor&, Communicator& world) {
    if (world.rank() == 1) throw RuntimeFailure(ExitCode::cannot_write, "[test] before the first step");
  };
  EXPECT_EQ(failure_of([&] { run_job(early); }).first, "[test] before the first step");
}

// Ranks that start programs together: an error of the one that starts them is that of all, and none waits for a rank
// that does not come.
TEST_F(FakeAccelerated, RanksThatStartProgramsTogetherFailTogether) {
  run_job(whole_job());
  const int runs = fake_->calls[Function::loaded_executable_execute];
  ASSERT_GE(runs, 4) << "two steps, each with its update";
  for (const bool late : {false, true}) {
    for (int call = 1; call <= runs; ++call) {
      for (const ErrorCode code : {ErrorCode::internal, ErrorCode::resource_exhausted, ErrorCode::unknown}) {
        start();
        Job failing = whole_job();
        (late ? fake_->failing_later : fake_->failing)[Function::loaded_executable_execute] = code;
        fake_->failing_call[Function::loaded_executable_execute] = call;
        const auto [message, exit] = failure_of([&] { run_job(failing); });
        const Expected expected = expected_for(code, Function::loaded_executable_execute);
        EXPECT_EQ(exit, expected.exit) << call << ": " << message;
        EXPECT_TRUE(message.starts_with(expected.begin + "in the program of ")) << call << ": " << message;
      }
    }
  }
}

/// Fails at one meeting of one rank.
class FailingBarrier final : public ForwardingCommunicator {
 public:
  FailingBarrier(Communicator& inner, int& left) : ForwardingCommunicator(inner), left_(left) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return inner().split(members, timeout);
  }
  void barrier(Timeout timeout) override {
    if (--left_ == 0) throw RuntimeFailure(ExitCode::cannot_write, "[test] as the test wants");
    ForwardingCommunicator::barrier(timeout);
  }

 private:
  int& left_;
};

TEST_F(FakeAccelerated, NoRankWaitsForOneThatDoesNotStartItsProgram) {
  int calls = 0;
  for (const int failing : {0, 1}) {
    calls = 0;
    for (bool fails = true; fails; ++calls) {
      start();
      Job job = whole_job();
      int left = calls + 1;
      job.wrap = [&](Communicator& world) -> std::unique_ptr<Communicator> {
        if (world.rank() != failing) return nullptr;
        return std::make_unique<FailingBarrier>(world, left);
      };
      const auto [message, code] = failure_of([&] { run_job(job); });
      fails = !message.empty();
      if (fails) EXPECT_TRUE(message.starts_with("[test] as the test wants: in the program of ")) << message;
      if (fails) EXPECT_EQ(code, ExitCode::cannot_write);
    }
    EXPECT_GE(calls, 8) << "two meetings for each of four programs";
  }
}

/// Bytes on a device after each program of a step without micro-batches: states and outputs that are there, and values
/// that an instruction after the program reads.
std::vector<int64_t> expected_bytes(const Program& program) {
  const Schedule& schedule = program.schedule();
  const LocalGraph& local = program.local();
  const std::vector<int> places = places_of(schedule);
  const auto& list = schedule.instructions;
  std::set<int> kept;
  for (const std::vector<int>* buffers : {&schedule.entry, &schedule.outputs}) {
    for (const int buffer : *buffers) kept.insert(places[static_cast<size_t>(buffer)]);
  }
  const auto is_read_from = [&](int place, size_t begin) {
    return std::any_of(list.begin() + static_cast<std::ptrdiff_t>(begin), list.end(), [&](const Instruction& one) {
      return std::any_of(one.inputs.begin(), one.inputs.end(),
                         [&](int buffer) { return places[static_cast<size_t>(buffer)] == place; });
    });
  };
  std::vector<int64_t> bytes;
  std::set<int> there = kept;  // all states and outputs, in the second step
  for (const Segment& segment : Segmenter(schedule, local, all_ops()).segments({schedule.update()})) {
    for (const std::vector<int>* used : {&segment.inputs, &segment.outputs}) there.insert(used->begin(), used->end());
    // The inputs of a program are there until it has been started.
    int64_t sum = 2;  // the two flags
    for (const int place : there) sum += local.type(schedule.buffers[place].value, {}).bytes();
    bytes.push_back(sum);
    std::erase_if(there, [&](int place) { return !kept.contains(place) && !is_read_from(place, segment.end); });
  }
  return bytes;
}

TEST_F(FakeAccelerated, ValuesAreReleasedAfterTheirLastReader) {
  Job job = this->job(1);
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    fake_->bytes_after_runs.clear();
    executor.step();
    EXPECT_EQ(fake_->bytes_after_runs, expected_bytes(program));
    const Schedule& schedule = program.schedule();
    std::set<int> kept;
    for (const std::vector<int>* buffers : {&schedule.entry, &schedule.outputs}) {
      for (const int buffer : *buffers) kept.insert(places_of(schedule)[static_cast<size_t>(buffer)]);
    }
    int64_t bytes = 2;
    for (const int place : kept) bytes += program.local().type(schedule.buffers[place].value, {}).bytes();
    EXPECT_EQ(fake_->device_bytes, bytes) << "between steps there are states and outputs";
  };
  run_job(job);
}

// Sums of gradients stay, and nothing else that is not there without micro-batches.
TEST_F(FakeAccelerated, MicroBatchesLeaveTheirSumsAlone) {
  for (const int64_t micro_batches : {2, 4}) {
    start();
    Job job = this->job(1, micro_batches);
    job.end = [&](const Program& program, Executor&, Communicator&) {
      const Schedule& schedule = program.schedule();
      const std::vector<int> places = places_of(schedule);
      std::set<int> kept;
      for (const std::vector<int>* buffers : {&schedule.entry, &schedule.outputs}) {
        for (const int buffer : *buffers) kept.insert(places[static_cast<size_t>(buffer)]);
      }
      for (const Instruction& one : schedule.instructions) {
        if (one.kind == Instruction::accumulate) kept.insert(places[static_cast<size_t>(one.outputs[0])]);
      }
      int64_t bytes = 2;
      for (const int place : kept) bytes += program.local().type(schedule.buffers[place].value, {0}).bytes();
      EXPECT_EQ(fake_->device_bytes, bytes);
    };
    run_job(job);
  }
}

TEST_F(FakeAccelerated, ReplaysFindTheirValues) {
  Job job = this->job(1, 2);
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    Job bad = job;
    bad.batch = [](int) {
      Arrays batch;
      batch.emplace("x", random_array({DType::f64, {8, 6}}, 5));
      return batch;
    };
    for (const auto& stage : executor.stages()) stage->run_singly(true);
    prepare(executor, program, bad);
    executor.step();
    for (const auto& stage : executor.stages()) stage->run_singly(false);
    executor.step();
  };
  run_job(job);
}

TEST_F(FakeAccelerated, AStepThatDoesNotFitIsRefusedBeforeItBegins) {
  run_job(job(1));
  const int64_t needed = fake_->max_device_bytes + 64 - 2;  // with the temporaries of a program, without flags
  for (const int64_t limit : {needed, needed - 1}) {
    start();
    fake_->memory_limit = limit;
    const auto [message, code] = failure_of([&] { run_job(job(1)); });
    if (limit == needed) {
      EXPECT_EQ(message, "");
      continue;
    }
    EXPECT_EQ(code, ExitCode::out_of_memory);
    EXPECT_TRUE(message.starts_with("[memory] the programs do not fit the device, got ")) << message;
    EXPECT_TRUE(has(message, " of states, ") && has(message,
                                                    " of other values, 64 bytes of temporaries) for the "
                                                    "program of "))
        << message;
    EXPECT_EQ(fake_->calls[Function::loaded_executable_execute], 0);
  }
}

/// Number of programs that rank 0 of a job runs in a step, and the number of its collectives, of which adjacent ones
/// count once.
struct Launches {
  int programs = 0, cuts = 0;
};

Launches launches_of(FakePlugin& fake, Job job) {
  Launches launches;
  job.steps = 1;
  int before = 0;
  const Program program = compile_job(job);
  job.begin = [&](const Program&, Executor&, Communicator& world) {
    world.barrier();
    if (world.rank() == 0) before = fake.calls[Function::loaded_executable_execute];
    world.barrier();
  };
  job.end = [&](const Program&, Executor&, Communicator& world) {
    world.barrier();
    if (world.rank() == 0) {
      launches.programs = (fake.calls[Function::loaded_executable_execute] - before) / world.size();
    }
    world.barrier();
  };
  run_job(job, program);
  const Segmenter segmenter(program.schedule(), program.local(), all_ops());
  bool was_program = true;
  for (const Instruction& instruction : program.schedule().instructions) {
    if (was_program && !segmenter.in_program(instruction)) ++launches.cuts;
    was_program = segmenter.in_program(instruction);
  }
  return launches;
}

TEST_F(FakeAccelerated, AStepRunsAsFewProgramsAsItsCollectivesAllow) {
  Job mlp = model_job("mlp:layers=3,hidden=64", {.image = {1, 6, 5}, .batch = 12});
  on_fake(mlp);
  const Launches alone = launches_of(*fake_, mlp);
  EXPECT_EQ(alone.cuts, 0);
  EXPECT_EQ(alone.programs, 2) << "one up to the check of the loss, and the update";
  for (const int64_t level : {0, 3}) {
    Job gpt = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 12});
    on_fake(gpt);
    gpt.ranks = 2;
    gpt.zero = {.level = level, .threshold = 0};
    const Launches launches = launches_of(*fake_, gpt);
    EXPECT_GT(launches.cuts, 0);
    EXPECT_LE(launches.programs, launches.cuts + 2) << "the update begins a program";
  }
}

}  // namespace
}  // namespace partita
