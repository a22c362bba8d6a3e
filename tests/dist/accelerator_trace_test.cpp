// Traces of trainings on an accelerator, for which a fake plugin stands. They show each program that runs there, and
// how long the host waits for it.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runtime/trace/chrome_trace.h"
#include "support/fake_accelerated.h"

namespace partita {
namespace {

/// Runs a job for a step and returns the spans of each rank.
std::vector<RankTrace> traced(Job job, const Program& program) {
  std::vector<Recorder> recorders(static_cast<size_t>(job.ranks));
  std::vector<RankTrace> traces(recorders.size());
  job.steps = 1;
  job.begin = [&](const Program&, Executor& executor, Communicator& world) {
    Recorder& recorder = recorders[static_cast<size_t>(world.rank())];
    executor.record(recorder, 1);
    recorder.begin_step(1, /*keeps_spans=*/true);
  };
  job.end = [&](const Program&, Executor&, Communicator& world) {
    const auto rank = static_cast<size_t>(world.rank());
    traces[rank] = {.rank = world.rank(), .spans = recorders[rank].take(), .lost = recorders[rank].lost()};
  };
  run_job(job, program);
  return traces;
}

std::vector<Span> of_kind(const RankTrace& trace, Span::Kind kind) {
  std::vector<Span> spans;
  std::copy_if(trace.spans.begin(), trace.spans.end(), std::back_inserter(spans),
               [&](const Span& span) { return span.kind == kind; });
  return spans;
}

Job gpt(int ranks, int64_t micro_batches, int64_t stages) {
  Job job = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 12});
  job.ranks = ranks;
  job.micro_batches = micro_batches;
  if (stages > 1) job.pipeline = {.stages = stages, .order = Order::one_forward_one_backward};
  return job;
}

using Started = std::tuple<int, int, int, int>;  // stage, micro-batch, first and last instruction
std::multiset<Started> started(const std::vector<Span>& spans) {
  std::multiset<Started> all;
  for (const Span& span : spans) all.emplace(span.stage, span.micro_batch, span.index, span.last);
  return all;
}

TEST_F(FakeAccelerated, EachProgramIsASpanOfTheDevice) {
  for (const auto& [ranks, micro_batches, stages] : {std::tuple{1, 1, 1}, {2, 1, 1}, {2, 3, 1}, {2, 2, 2}, {4, 2, 2}}) {
    SCOPED_TRACE(fmt::format("{} ranks, {} micro-batches, {} stages", ranks, micro_batches, stages));
    Job job = gpt(ranks, micro_batches, stages);
    on_fake(job);
    const Program program = compile_job(job);
    size_t all = 0;
    const int before = fake_->calls[Function::loaded_executable_execute];
    for (const RankTrace& trace : traced(job, program)) {
      EXPECT_EQ(trace.lost, 0);
      const std::vector<Span> programs = of_kind(trace, Span::program);
      std::vector<Span> starts = of_kind(trace, Span::instruction);
      std::erase_if(starts, [](const Span& span) { return span.last < 0; });
      EXPECT_EQ(started(programs), started(starts));
      for (size_t i = 0; i < programs.size(); ++i) {
        EXPECT_EQ(programs[i].thread, 2) << "after the threads of the rank and of its stage";
        EXPECT_LE(programs[i].begin, programs[i].end);
        if (i > 0) {
          EXPECT_LE(programs[i - 1].end, programs[i].begin);
        }
      }
      all += programs.size();
    }
    EXPECT_EQ(static_cast<int>(all), fake_->calls[Function::loaded_executable_execute] - before);
  }
}

// Plugins may tell of the end of a run after the next one has ended.
TEST_F(FakeAccelerated, ProgramsHaveTheOrderOfTheirStarts) {
  Job job = gpt(2, 2, 2);
  on_fake(job);
  const Program program = compile_job(job);
  fake_->is_stuck = true;
  for (const RankTrace& trace : traced(job, program)) {
    std::vector<Span> starts = of_kind(trace, Span::instruction);
    std::erase_if(starts, [](const Span& span) { return span.last < 0; });
    const std::vector<Span> programs = of_kind(trace, Span::program);
    ASSERT_EQ(programs.size(), starts.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      EXPECT_EQ(programs[i].index, starts[i].index);
      EXPECT_EQ(programs[i].stage, starts[i].stage);
      EXPECT_EQ(programs[i].micro_batch, starts[i].micro_batch);
      EXPECT_GE(programs[i].begin, starts[i].begin);
    }
  }
  for (const auto& [told, argument] : fake_->stuck) told(nullptr, argument);
  fake_->stuck.clear();
  fake_->is_stuck = false;
}

// Communication is what is left when the device has computed what is sent.
TEST_F(FakeAccelerated, TheHostWaitsForTheDeviceBeforeItCommunicates) {
  for (const int64_t stages : {1, 2}) {
    Job job = gpt(2, 2, stages);
    on_fake(job);
    const Program program = compile_job(job);
    size_t communications = 0;
    for (const RankTrace& trace : traced(job, program)) {
      std::vector<Span> own = trace.spans;
      std::erase_if(own, [](const Span& span) { return span.thread != 0; });
      for (size_t i = 0; i < own.size(); ++i) {
        const bool sends = own[i].kind == Span::send, is_verdict = own[i].kind == Span::verdict;
        const bool reduces = own[i].kind == Span::instruction && own[i].exposed != 0;
        if (!sends && !is_verdict && !reduces) continue;
        // Parameters that are sent between stages are on the host before the first step.
        if (sends && program.pipeline.transfers[static_cast<size_t>(own[i].index)].sent == Section::once) continue;
        if (is_verdict && trace.rank == 0 && stages > 1) continue;  // it has no loss to give
        ++communications;
        ASSERT_GT(i, 0U);
        EXPECT_EQ(own[i - 1].kind, Span::device) << own[i].kind << " of rank " << trace.rank << " in " << own[i].index;
      }
    }
    EXPECT_GT(communications, 0U);
  }
}

TEST_F(FakeAccelerated, TracesNameProgramsAndWaits) {
  Job job = gpt(2, 1, 1);
  on_fake(job);
  const Program program = compile_job(job);
  std::ostringstream text;
  ChromeTrace file(program, text);
  for (const RankTrace& trace : traced(job, program)) file.add(trace);
  file.finish();
  const nlohmann::json written = nlohmann::json::parse(text.str());
  std::set<std::string> names, threads;
  for (const auto& event : written.at("traceEvents")) {
    const auto name = event.at("name").get<std::string>();
    if (name == "thread_name") threads.insert(event.at("args").at("name").get<std::string>());
    if (event.at("ph") != "X") continue;
    names.insert(name);
    if (event.at("cat") != "program") continue;
    EXPECT_EQ(event.at("tid"), 2);
    EXPECT_GT(event.at("args").at("instructions"), 1);
    EXPECT_TRUE(has(name, " to ")) << name;
    EXPECT_TRUE(names.contains("start " + name) || event.at("args").at("section") == "update") << name;
  }
  EXPECT_TRUE(threads.contains("compute") && threads.contains("device")) << text.str();
  EXPECT_TRUE(names.contains("wait for the device")) << text.str();
}

// A step that is not finite is repeated with a program for each instruction; all of them are there.
TEST_F(FakeAccelerated, TracesOfStepsThatAreNotFiniteAreWhole) {
  for (const int ranks : {1, 2}) {
    Job job = gpt(ranks, 1, 1);
    on_fake(job);
    const Program program = compile_job(job);
    std::vector<Recorder> recorders(static_cast<size_t>(ranks));
    std::vector<std::vector<Span>> spans(static_cast<size_t>(ranks));
    job.steps = 0;
    int before = 0;
    job.end = [&](const Program&, Executor& executor, Communicator& world) {
      Recorder& recorder = recorders[static_cast<size_t>(world.rank())];
      executor.record(recorder, 20);
      recorder.begin_step(1, /*keeps_spans=*/true);
      world.barrier();
      if (world.rank() == 0) {
        fake_->fill = NAN;
        before = fake_->calls[Function::loaded_executable_execute];
      }
      world.barrier();
      EXPECT_TRUE(executor.try_step().has_value());
      spans[static_cast<size_t>(world.rank())] = recorder.take();
      EXPECT_EQ(recorder.lost(), 0);
    };
    run_job(job, program);
    size_t all = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankTrace trace{.rank = rank, .spans = spans[static_cast<size_t>(rank)]};
      std::vector<Span> starts = of_kind(trace, Span::instruction);
      std::erase_if(starts, [](const Span& span) { return span.last < 0; });
      const std::vector<Span> programs = of_kind(trace, Span::program);
      EXPECT_EQ(started(programs), started(starts));
      EXPECT_GT(programs.size(), 50U) << "one for each node";
      all += programs.size();
    }
    EXPECT_EQ(static_cast<int>(all), fake_->calls[Function::loaded_executable_execute] - before);
    fake_->fill = 1;
  }
}

// The plugin's message is that of the call that failed.
TEST_F(FakeAccelerated, APluginThatTellsOfNoEndIsAnError) {
  Job job = gpt(1, 1, 1);
  on_fake(job);
  Recorder recorder;
  job.begin = [&](const Program&, Executor& executor, Communicator&) {
    executor.record(recorder, 1);
    recorder.begin_step(1, /*keeps_spans=*/true);
    fake_->failing[Function::event_on_ready] = ErrorCode::internal;
  };
  EXPECT_TRUE(has(failure_of([&] { run_job(job); }).first, "PJRT_Event_OnReady failed with code 13"));
}

// A run that failed has no time.
TEST_F(FakeAccelerated, ARunThatFailsIsNoSpan) {
  Job job = gpt(1, 1, 1);
  on_fake(job);
  const Program program = compile_job(job);
  Recorder recorder;
  job.steps = 1;
  job.begin = [&](const Program&, Executor& executor, Communicator&) {
    executor.record(recorder, 1);
    recorder.begin_step(1, /*keeps_spans=*/true);
    fake_->failing_later[Function::loaded_executable_execute] = ErrorCode::internal;
  };
  EXPECT_EQ(failure_of([&] { run_job(job, program); }).second, ExitCode::peer_lost);
  for (const Span& span : recorder.take()) EXPECT_NE(span.kind, Span::program);
}

}  // namespace
}  // namespace partita
