// Ids that programs of an accelerator compute have the messages of a CPU, and change no state. The tests run if
// PARTITA_PJRT_PLUGIN names a plugin for CPUs (tools/xla/get_plugin.sh).

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/philox.h"
#include "base/test_refusal.h"
#include "ir/ops/registry.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "support/fake_accelerated.h"
#include "support/job.h"
#include "support/needs_plugin.h"
#include "support/ranks.h"

namespace partita {
namespace {

class ComputedIds : public NeedsPlugin {};

/// A network whose input `ids` holds floats, which its programs make ids of.
struct IdCase {
  std::string op;     // the node that refuses them
  int64_t below = 0;  // ids have to be below it
  std::string text;   // between %ids, i32[8,6] or i64[8,6], and %y, f64[8,..]
};

const std::vector<IdCase>& id_cases() {
  static const std::vector<IdCase> cases{
      {"embedding", 5, "state %w: f64[5,4] parameter normal(0,1)\n%y = embedding(%w, %ids) : f64[8,6,4]\n"},
      {"cross_entropy", 4,
       "state %w: f64[6,4] parameter normal(0,1)\n%x = reshape(%given) {shape=[8,6,1]} : f64[8,6,1]\n"
       "%v = reshape(%w) {shape=[1,6,4]} : f64[1,6,4]\n%logits = mul(%x, %v) : f64[8,6,4]\n"
       "%y, %lse = cross_entropy(%logits, %ids) : f64[8,6], f64[8,6,1]\n"},
      {"one_hot", 4,
       "state %w: f64[4] parameter normal(0,1)\n%hot = one_hot(%ids) {depth=4, classes=4, dtype=f64} : f64[8,6,4]\n"
       "%y = mul(%hot, %w) : f64[8,6,4]\n"},
      {"take_along", 6,
       "state %w: f64[6] parameter normal(0,1)\n%x = mul(%given, %w) : f64[8,6]\n"
       "%y = take_along(%x, %ids) : f64[8,6]\n"},
      {"put_along", 9,
       "state %w: f64[6] parameter normal(0,1)\n%x = mul(%given, %w) : f64[8,6]\n"
       "%y = put_along(%x, %ids) {size=9} : f64[8,9]\n"},
      {"scatter_add", 7,
       "state %w: f64[7,1] parameter normal(0,1)\n%x = reshape(%given) {shape=[8,6,1]} : f64[8,6,1]\n"
       "%y = scatter_add(%w, %ids, %x) : f64[7,1]\n"},
      {"assign_slots", 3,
       "state %w: f64[1] parameter normal(0,1)\n%n = reshape(%ids) {shape=[8,6,1]} : INTEGER[8,6,1]\n"
       "%x = reshape(%given) {shape=[8,6,1]} : f64[8,6,1]\n"
       "%slots = assign_slots(%n) {experts=3, capacity=4} : i32[8,6,1]\n"
       "%sent = dispatch(%x, %slots) {size=12} : f64[8,12,1]\n%come = mul(%sent, %w) : f64[8,12,1]\n"
       "%y = combine(%come, %slots) : f64[8,6,1]\n"},
      {"dispatch", 6,
       "state %w: f64[1] parameter normal(0,1)\n%n = reshape(%ids) {shape=[8,6,1]} : INTEGER[8,6,1]\n"
       "%x = reshape(%given) {shape=[8,6,1]} : f64[8,6,1]\n%own = mul(%x, %w) : f64[8,6,1]\n"
       "%y = dispatch(%own, %n) {size=5} : f64[8,5,1]\n"},
      {"combine", 7,
       "state %w: f64[1] parameter normal(0,1)\n%n = reshape(%ids) {shape=[8,6,1]} : INTEGER[8,6,1]\n"
       "%x = reshape(%given) {shape=[8,6,1]} : f64[8,6,1]\n%own = mul(%x, %w) : f64[8,6,1]\n"
       "%y = combine(%own, %n) : f64[8,6,1]\n"}};
  return cases;
}

/// Returns the network of a case. Its ids are half of the input.
Graph graph_of_ids(const IdCase& one, const std::string& integer) {
  std::string body = one.text, states;
  for (size_t at = body.find("INTEGER"); at != std::string::npos; at = body.find("INTEGER")) {
    body.replace(at, std::string("INTEGER").size(), integer);
  }
  const size_t end = body.find('\n') + 1;
  states = body.substr(0, end);
  body.erase(0, end);
  const Type type = [&] {
    const size_t colon = body.rfind(" : f64[");
    Shape shape;
    std::string sizes = body.substr(body.find('[', colon) + 1);
    for (size_t at = 0; at < sizes.size() && sizes[at] != ']'; ++at) {
      if (at == 0 || sizes[at - 1] == ',') shape.push_back(std::stoll(sizes.substr(at)));
    }
    return Type{DType::f64, shape};
  }();
  std::string axes = "0";
  for (int d = 1; d < (one.op == "cross_entropy" ? 2 : type.rank()); ++d) axes += fmt::format(",{}", d);
  const std::string y = one.op == "cross_entropy" ? "f64[8,6]" : print(type);
  return parse_graph(fmt::format("partita graph 1\ngraph ids\ninput %given: f64[8,6] batch=0\n{}"
                                 "%half = scale(%given) {{scale=0.5}} : f64[8,6]\n"
                                 "%ids = cast(%half) {{dtype={}}} : {}[8,6]\n{}"
                                 "%square = square(%y) : {}\n"
                                 "%loss = reduce(%square) {{axes=[{}], scale=0.1}} : f64[]\noutput loss = %loss\n",
                                 states, integer, integer, body, y, axes),
                     all_ops());
}

/// An id to put into a step: element `at` of the input.
struct BadId {
  int step = -1;
  int64_t at = 0, id = 0;
};

Job job_of_ids(const IdCase& one, const std::vector<BadId>& bad = {}, const std::string& integer = "i32") {
  Job job;
  job.forward = graph_of_ids(one, integer);
  job.training.optimizer = {.kind = OptimizerKind::momentum};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.steps = 2;
  job.batch = [below = one.below, bad](int step) {
    Array given({DType::f64, {8, 6}});
    for (int64_t i = 0; i < 48; ++i) {
      const auto id =
          random_below(7, static_cast<uint64_t>(i), static_cast<uint64_t>(step), static_cast<uint64_t>(below));
      given.set(i, 2 * static_cast<double>(id));
    }
    for (const BadId& one : bad) {
      if (one.step == step) given.set(one.at, 2 * static_cast<double>(one.id));
    }
    Arrays batch;
    batch.emplace("given", std::move(given));
    return batch;
  };
  return job;
}

/// How the ranks of a job work together.
struct RankSplit {
  int ranks = 1;
  CollectiveMode collectives = CollectiveMode::cut;
  int64_t micro_batches = 1;
};

const std::vector<RankSplit>& rank_splits() {
  static const std::vector<RankSplit> all{{1},
                                          {1, CollectiveMode::cut, 2},
                                          {2},
                                          {4},
                                          {2, CollectiveMode::cut, 2},
                                          {2, CollectiveMode::whole},
                                          {2, CollectiveMode::whole, 4}};
  return all;
}

Job split_job(Job job, const RankSplit& split, const std::string& device) {
  job.ranks = split.ranks;
  job.micro_batches = split.micro_batches;
  job.device_name = device;
  if (device != "cpu") job.collectives = split.collectives;
  return job;
}

/// Whether the test can run it: programs with collectives need threads.
bool can_split(const RankSplit& split) {
  if (split.ranks == 1) return true;
  return can_run(split.ranks) && (split.collectives == CollectiveMode::cut || !ranks_are_processes());
}

/// Whether a message is that of the op of a case. Where rows are cut, scatter_add is expanded.
bool is_of(const std::string& message, const IdCase& one) {
  return message.starts_with(fmt::format("[{}] ", one.op)) ||
         (one.op == "scatter_add" && message.starts_with("[scatter_rows] "));
}

std::string print_split(const RankSplit& split) {
  return fmt::format("{} ranks, {}, {} micro-batches", split.ranks, name_of(split.collectives), split.micro_batches);
}

std::string refusal_of_job(const Job& job) {
  return refusal_of([&] { run_job(job); });
}

TEST_F(ComputedIds, GoodOnesGiveTheNumbersOfTheInterpreter) {
  for (const IdCase& one : id_cases()) {
    for (const std::string integer : {"i32", "i64"}) {
      const Job job = job_of_ids(one, {}, integer);
      const JobResult oracle = interpret_job(job);
      for (const RankSplit& split : rank_splits()) {
        if (!can_split(split) || (integer == "i64" && split.ranks > 1)) continue;
        expect_same_training(run_job(split_job(job, split, "xla:cpu")), oracle, 1e-9,
                             fmt::format("{}, {}", one.op, print_split(split)));
      }
    }
  }
}

TEST_F(ComputedIds, BadOnesHaveTheMessagesOfTheCpu) {
  if (ranks_are_processes()) GTEST_SKIP() << "a process that fails is ended by its launcher";
  uint64_t key = 0;
  for (const IdCase& one : id_cases()) {
    for (const RankSplit& split : rank_splits()) {
      const auto draw = [&](uint64_t below) { return static_cast<int64_t>(random_below(11, ++key, 0, below)); };
      const int64_t far = draw(2) * draw(1 << 20);
      for (const int64_t id : {-1 - far, one.below + far}) {
        const BadId bad{.step = static_cast<int>(draw(2)), .at = draw(48), .id = id};
        const Job job = job_of_ids(one, {bad}, draw(2) == 0 ? "i32" : "i64");
        const std::string expected = refusal_of_job(split_job(job, split, "cpu"));
        EXPECT_TRUE(is_of(expected, one)) << expected;
        EXPECT_NE(expected.find(fmt::format(", got {}, expected 0 to ", id)), std::string::npos) << expected;
        EXPECT_EQ(refusal_of_job(split_job(job, split, "xla:cpu")), expected)
            << one.op << ", " << print_split(split) << ", element " << bad.at;
      }
    }
  }
}

std::map<std::string, std::vector<double>> numbers_of_states(const Program& program, Executor& executor) {
  std::map<std::string, std::vector<double>> found;
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.values[state.entry].name;
    const Array value = executor.state(name);
    for (int64_t i = 0; i < value.type().elements(); ++i) found[name].push_back(value.at(i));
  }
  return found;
}

void set_rows(Executor& executor, const Array& given) {
  const StageExecutor& stage = *executor.stages()[0];
  const LocalGraph& local = stage.local();
  const ValueId value = local.graph.input("given");
  for (int64_t m = 0; m < local.mesh.micro_batches(); ++m) {
    std::vector<int64_t> coordinates = stage.coordinates();
    if (local.mesh.micro_axis() >= 0) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
    executor.set_input("given", given.tensor(),
                       local_ranges(local.graph.type(value), local.shardings[value], local.mesh, coordinates), m);
  }
}

// All ranks throw the same error, before anything is updated, and can go on.
TEST_F(ComputedIds, BadOnesLeaveStatesAlone) {
  for (const IdCase& one : id_cases()) {
    for (const RankSplit& split : rank_splits()) {
      for (const bool checks_loss : {false, true}) {
        if (!can_split(split) || (checks_loss && split.micro_batches == 1)) continue;
        Job job = split_job(job_of_ids(one), split, "xla:cpu");
        const JobResult expected = run_job(job);
        const Arrays good = job.batch(1), bad = job_of_ids(one, {{.step = 1, .at = 43, .id = -7}}).batch(1);
        job.steps = 1;
        job.end = [&](const Program& program, Executor& executor, Communicator&) {
          const auto before = numbers_of_states(program, executor);
          set_rows(executor, bad.at("given"));
          for (int again = 0; again < 2; ++again) {
            std::string message;
            try {
              checks_loss ? executor.step() : executor.run();
            } catch (const InvalidArgument& error) {
              message = error.what();
            }
            EXPECT_TRUE(is_of(message, one)) << message;
            EXPECT_NE(message.find(", got -7, expected 0 to "), std::string::npos) << message;
            EXPECT_EQ(numbers_of_states(program, executor), before) << one.op;
          }
          set_rows(executor, good.at("given"));
          checks_loss ? executor.step() : executor.run();
        };
        const JobResult result = run_job(job);
        for (const auto& [name, value] : expected.states) {
          EXPECT_EQ(relative_error(result.states.at(name), value), 0) << one.op << ", " << print_split(split);
        }
      }
    }
  }
}

/// A network of two stages, whose ids each stage takes: those of the input, and one more in the second.
Job job_of_stages(int64_t id) {
  Job job;
  job.forward = parse_graph(R"(partita graph 1
graph stages
input %given: f64[8,6] batch=0
state %w: f64[9,4] parameter normal(0,1)
state %u: f64[4,4] parameter normal(0,1)
state %v: f64[4,4] parameter normal(0,1)
state %t: f64[9,4] parameter normal(0,1)
%ids = cast(%given) {dtype=i32} : i32[8,6]
%a = embedding(%w, %ids) : f64[8,6,4]
%b = matmul(%a, %u) : f64[8,6,4]
%c = tanh(%b) : f64[8,6,4]
%d = matmul(%c, %v) : f64[8,6,4]
%more = scale(%given) {bias=1} : f64[8,6]
%others = cast(%more) {dtype=i32} : i32[8,6]
%e = embedding(%t, %others) : f64[8,6,4]
%f = mul(%d, %e) : f64[8,6,4]
%loss = reduce(%f) {axes=[0,1,2], scale=0.1} : f64[]
output loss = %loss
)",
                            all_ops());
  job.training.optimizer = {.kind = OptimizerKind::momentum};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.micro_batches = 4;
  job.batch = [id](int) {
    Arrays batch;
    Array given({DType::f64, {8, 6}});
    for (int64_t i = 0; i < 48; ++i) given.set(i, static_cast<double>(i % 8));
    given.set(29, static_cast<double>(id));
    batch.emplace("given", std::move(given));
    return batch;
  };
  return job;
}

// The id 8 is beyond the table of the second stage alone, and -1 below that of the first alone.
TEST_F(ComputedIds, StagesHaveTheMessagesOfTheCpu) {
  if (ranks_are_processes()) GTEST_SKIP() << "a process that fails is ended by its launcher";
  const JobResult oracle = interpret_job(job_of_stages(7));
  for (const auto& [ranks, collectives] :
       {std::pair{2, CollectiveMode::cut}, {4, CollectiveMode::cut}, {4, CollectiveMode::whole}}) {
    for (const int64_t id : {7, 8, -1}) {
      Job job = job_of_stages(id);
      job.ranks = ranks;
      job.pipeline = {.stages = 2, .order = Order::one_forward_one_backward};
      job.device_name = "cpu";
      const std::string expected = refusal_of_job(job);
      EXPECT_EQ(expected == "accepted", id == 7) << expected;
      job.device_name = "xla:cpu";
      job.collectives = collectives;
      if (id == 7) expect_same_training(run_job(job), oracle, 1e-9, "stages");
      EXPECT_EQ(refusal_of_job(job), expected) << ranks << " ranks, " << name_of(collectives);
    }
  }
}

/// Jobs on a fake plugin, whose programs make ids of their input. What they find about these is `fill_i64`.
class FakeIds : public FakeAccelerated {
 protected:
  Job ids_job(int ranks, CollectiveMode mode = CollectiveMode::cut) {
    Job job = mode == CollectiveMode::whole ? whole_job() : this->job(ranks, 2);
    job.forward = parse_graph(R"(partita graph 1
graph ids
input %x: f64[8,6] batch=0
state %w: f64[5,4] parameter constant(0.1)
%ids = cast(%x) {dtype=i32} : i32[8,6]
%a = embedding(%w, %ids) : f64[8,6,4]
%b = square(%a) : f64[8,6,4]
%loss = reduce(%b) {axes=[0,1,2], scale=0.1} : f64[]
output loss = %loss
)",
                              all_ops());
    job.states = initial_states(job.forward, /*seed=*/3);
    return job;
  }
  /// Runs an action with jobs of one rank, of two, and of two in whole mode.
  void for_jobs(const std::function<void(const std::function<Job()>& make)>& action) {
    for (const int ranks : {1, 2}) action([&] { return ids_job(ranks); });
    action([&] { return ids_job(2, CollectiveMode::whole); });
  }
};

TEST_F(FakeIds, WhatProgramsFindEndsTheStep) {
  for_jobs([&](const auto& make) {
    start();
    fake_->fill_i64 = 0;
    EXPECT_EQ(run_job(make()).losses.size(), 2u);
    const int runs = fake_->calls[Function::loaded_executable_execute];
    start();
    fake_->fill_i64 = 9;
    const auto [message, code] = failure_of([&] { run_job(make()); });
    EXPECT_EQ(message, "[embedding] id is outside the table, got 9, expected 0 to 4");
    EXPECT_EQ(code, ExitCode::usage);
    EXPECT_LE(fake_->calls[Function::loaded_executable_execute], runs / 2) << "no second step was started";
    EXPECT_EQ(fake_->forgotten, 0);
    start();
    fake_->fill_i64 = 4;  // an id of the table
    const auto [wrong, internal] = failure_of([&] { run_job(make()); });
    EXPECT_TRUE(has(wrong, "a program refused 4, which its node takes")) << wrong;
    EXPECT_EQ(internal, ExitCode::internal);
  });
}

TEST_F(FakeIds, ErrorsOfThePluginNameTheirPlace) {
  for_jobs([&](const auto& make) {
    int named = 0, call = 1;
    for (bool fails = true; fails; ++call) {
      start();
      fake_->fill_i64 = 0;
      fake_->failing[Function::buffer_to_host] = ErrorCode::unavailable;
      fake_->failing_call[Function::buffer_to_host] = call;
      const auto [message, code] = failure_of([&] { run_job(make()); });
      fails = !message.empty();
      if (!fails) break;
      EXPECT_EQ(code, ExitCode::peer_lost) << message;
      EXPECT_TRUE(has(message, ", which comes from the device") || has(message, ", which come from the device"));
      named += has(message, ": checks of ids, which come from the device") ? 1 : 0;
      EXPECT_EQ(fake_->forgotten, 0) << call;
    }
    EXPECT_GE(named, 2) << "of " << call << " copies";
  });
}

TEST_F(FakeIds, ARunThatFailsNamesItsProgram) {
  for_jobs([&](const auto& make) {
    start();
    fake_->fill_i64 = 0;
    run_job(make());
    const int runs = fake_->calls[Function::loaded_executable_execute];
    for (const bool late : {false, true}) {
      for (int call = 1; call <= runs; ++call) {
        start();
        fake_->fill_i64 = 0;
        (late ? fake_->failing_later : fake_->failing)[Function::loaded_executable_execute] = ErrorCode::unknown;
        fake_->failing_call[Function::loaded_executable_execute] = call;
        const auto [message, code] = failure_of([&] { run_job(make()); });
        EXPECT_TRUE(has(message, "in the program of ")) << late << ", run " << call << ": " << message;
        EXPECT_EQ(code, ExitCode::internal);
        EXPECT_EQ(fake_->forgotten, 0) << call;
      }
    }
  });
}

TEST_F(FakeIds, WhatACopyThrowsLeavesNothingInFlight) {
  for_jobs([&](const auto& make) {
    int call = 1;
    for (bool throws = true; throws; ++call) {
      start();
      fake_->fill_i64 = 0;
      fake_->throwing = {Function::buffer_to_host};
      fake_->failing_call[Function::buffer_to_host] = call;
      throws = false;
      try {
        run_job(make());
      } catch (const std::bad_alloc&) {
        throws = true;
      }
      EXPECT_EQ(fake_->forgotten, 0) << call;
    }
    EXPECT_GE(call, 4);
  });
}

}  // namespace
}  // namespace partita
