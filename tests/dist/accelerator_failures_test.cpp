// Failures of an accelerator end the step on every rank, with a message that says where. The plugin is a fake
// one, whose programs compute nothing (runtime/pjrt/test_fake_plugin.h).

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

#include "ir/ops/registry.h"
#include "support/fake_accelerated.h"
#include "support/forwarding_communicator.h"
#include "support/ranks.h"

namespace partita {
namespace {

TEST_F(FakeAccelerated, TrainsAndLeavesNothing) {
  for (const int ranks : {1, 2}) {
    Job trained = job(ranks, 4);
    trained.zero = {.level = ranks == 1 ? 0 : 3, .threshold = 0};
    const JobResult result = run_job(trained);
    EXPECT_EQ(result.losses.size(), 2u);
    EXPECT_GE(fake_->max_in_flight, 3) << "runs are started without waiting";
  }
}

struct ExpectedFailure {
  ExitCode exit = ExitCode::internal;
  std::string begin, end;  // parts of the message before and after the place
};

/// Returns what an error of a function of the plugin becomes.
ExpectedFailure expected_for(ErrorCode code, Function function) {
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
        const ExpectedFailure expected = expected_for(static_cast<ErrorCode>(code), function);
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
      const ExpectedFailure expected = expected_for(code, Function::loaded_executable_execute);
      EXPECT_EQ(exit, expected.exit) << call << ": " << message;
      EXPECT_TRUE(message.starts_with(expected.begin + "in the program of ")) << call << ": " << message;
      EXPECT_EQ(has(message, "of results, 0 bytes of them in place, and 64 bytes of temporaries"),
                code == ErrorCode::resource_exhausted)
          << message;
    }
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

// The update starts at once, so an error that a run before it has later loses the states as well.
TEST_F(FakeAccelerated, AFailedUpdateLosesTheStates) {
  for (const bool late : {false, true}) {
    start();
    Job job = this->job(1, 2);
    job.steps = 1;
    job.end = [&](const Program& program, Executor& executor, Communicator&) {
      const auto executions = [&] { return fake_->calls[Function::loaded_executable_execute]; };
      const int before = executions();
      executor.step();
      const int runs = executions() - before;
      ASSERT_GE(runs, 2);
      EXPECT_TRUE(has(fail_run(*fake_, executor, runs, runs - 1, late), " failed with code 2: "));
      const std::string read = failure_of([&] { executor.state("w"); }).first;
      EXPECT_EQ(read.starts_with("[device] a state that is lost, got "), late) << read;
      prepare(executor, program, job);
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

/// Fails in one call of a kind, on one rank.
class FailingCommunicator final : public ForwardingCommunicator {
 public:
  enum class Kind { reduction, barrier };
  FailingCommunicator(Communicator& inner, Kind kind, int& left)
      : ForwardingCommunicator(inner), kind_(kind), left_(left) {}
  FailingCommunicator(std::unique_ptr<Communicator> inner, Kind kind, int& left)
      : ForwardingCommunicator(std::move(inner)), kind_(kind), left_(left) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<FailingCommunicator>(inner().split(members, timeout), kind_, left_);
  }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    begin(Kind::reduction);
    ForwardingCommunicator::all_reduce(data, count, dtype, reduce, timeout);
  }
  void barrier(Timeout timeout) override {
    begin(Kind::barrier);
    ForwardingCommunicator::barrier(timeout);
  }

 private:
  void begin(Kind kind) {
    if (kind == kind_ && --left_ == 0) throw RuntimeFailure(ExitCode::cannot_write, "[test] as the test wants");
  }

  const Kind kind_;
  int& left_;
};

// Exceptions that are no errors of ours, such as a lack of memory, end a step as an error does.
TEST_F(FakeAccelerated, WhatIsThrownWhileAProgramStartsLeavesNothingInFlight) {
  for (const bool whole : {false, true}) {
    start();
    run_job(whole ? whole_job() : job(1, 4));
    const int runs = fake_->calls[Function::loaded_executable_execute];
    for (int call = 1; call <= runs; ++call) {
      start();
      fake_->throwing = {Function::loaded_executable_execute};
      fake_->failing_call[Function::loaded_executable_execute] = call;
      EXPECT_THROW(run_job(whole ? whole_job() : job(1, 4)), std::bad_alloc) << call;
      EXPECT_EQ(fake_->forgotten, 0) << call;
    }
  }
}

// States that an update may have taken are lost, whatever it threw.
TEST_F(FakeAccelerated, AnUpdateThatThrowsLosesTheStates) {
  Job job = this->job(1);
  job.steps = 1;
  job.end = [&](const Program& program, Executor& executor, Communicator&) {
    auto& calls = fake_->calls[Function::loaded_executable_execute];
    const int before = calls;
    executor.step();
    fake_->throwing = {Function::loaded_executable_execute};
    fake_->failing_call[Function::loaded_executable_execute] = calls + (calls - before);
    EXPECT_THROW(executor.step(), std::bad_alloc);
    const auto [lost, code] = failure_of([&] { executor.state("w"); });
    EXPECT_EQ(lost,
              "[device] a state that is lost, got w, expected one that no failed update was to write: out of memory");
    EXPECT_EQ(code, ExitCode::out_of_memory);
    prepare(executor, program, job);
    EXPECT_EQ(failure_of([&] { executor.step(); }).first, "");
  };
  run_job(job);
}

// A rank that fails elsewhere frees nothing that its programs still use.
TEST_F(FakeAccelerated, ARankThatFailsWaitsForItsPrograms) {
  int calls = 0;
  for (bool fails = true; fails; ++calls) {
    start();
    Job failing = job(2, 2);
    int left = calls + 1;
    failing.wrap = [&](Communicator& world) -> std::unique_ptr<Communicator> {
      if (world.rank() != 1) return nullptr;
      return std::make_unique<FailingCommunicator>(world, FailingCommunicator::Kind::reduction, left);
    };
    fails = !failure_of([&] { run_job(failing); }).first.empty();
    EXPECT_EQ(fake_->forgotten, 0) << calls;
  }
  EXPECT_GE(calls, 3);
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

TEST_F(FakeAccelerated, ARankThatThrowsEndsAllRanks) {
  int calls = 0;
  for (bool fails = true; fails; ++calls) {
    start();
    Job failing = job(2, 2);
    failing.schedule.overlap = false;
    int left = calls + 1;
    failing.wrap = [&](Communicator& world) -> std::unique_ptr<Communicator> {
      if (world.rank() != 1) return nullptr;
      return std::make_unique<FailingCommunicator>(world, FailingCommunicator::Kind::reduction, left);
    };
    const auto [message, code] = failure_of([&] { run_job(failing); });
    fails = !message.empty();
    if (fails) {
      EXPECT_EQ(message, "[test] as the test wants");
      EXPECT_EQ(code, ExitCode::cannot_write);
    }
  }
  EXPECT_GE(calls, 3) << "reductions of two steps";
  start();
  Job early = job(2);
  early.begin = [](const Program&, Executor&, Communicator& world) {
    if (world.rank() == 1) throw RuntimeFailure(ExitCode::cannot_write, "[test] before the first step");
  };
  EXPECT_EQ(failure_of([&] { run_job(early); }).first, "[test] before the first step");
}

// Ranks that start programs together: the rank that starts them throws the error, the others end as after any rank
// that fails, and none waits for a rank that does not come.
TEST_F(FakeAccelerated, RanksThatStartProgramsTogetherFailTogether) {
  run_job(whole_job());
  const int runs = fake_->calls[Function::loaded_executable_execute];
  ASSERT_EQ(runs, 2) << "two steps, each with its update";
  for (const bool late : {false, true}) {
    for (int call = 1; call <= runs; ++call) {
      for (const ErrorCode code : {ErrorCode::internal, ErrorCode::resource_exhausted, ErrorCode::unknown}) {
        start();
        Job failing = whole_job();
        (late ? fake_->failing_later : fake_->failing)[Function::loaded_executable_execute] = code;
        fake_->failing_call[Function::loaded_executable_execute] = call;
        const auto [message, exit] = failure_of([&] { run_job(failing); });
        const ExpectedFailure expected = expected_for(code, Function::loaded_executable_execute);
        EXPECT_EQ(exit, expected.exit) << call << ": " << message;
        EXPECT_TRUE(message.starts_with(expected.begin + "in the program of ")) << call << ": " << message;
        // The rank that starts the program tells of a start that fails.
        if (!late) {
          EXPECT_TRUE(message.ends_with(" on rank 0" + expected.end)) << call << ": " << message;
        }
      }
    }
  }
}

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
        return std::make_unique<FailingCommunicator>(world, FailingCommunicator::Kind::barrier, left);
      };
      const auto [message, code] = failure_of([&] { run_job(job); });
      fails = !message.empty();
      if (fails) {
        EXPECT_EQ(message, "[test] as the test wants");
        EXPECT_EQ(code, ExitCode::cannot_write);
      }
      EXPECT_EQ(fake_->forgotten, 0);
    }
    EXPECT_GE(calls, 4) << "two meetings for each of two programs";
  }
}

}  // namespace
}  // namespace partita
