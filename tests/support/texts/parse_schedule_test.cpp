// Invalid texts of schedules are refused with the line, or with what is inconsistent.

#include <gtest/gtest.h>

#include <random>

#include "base/test_refusal.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/plan/cut_micro_batches.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "support/texts/texts.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

struct Made {
  LocalGraph local;
  Schedule schedule;
};

Made make(int64_t micro_batches = 1, const LossOptions& loss = {}) {
  const ZooModel model = make_model("mlp:hidden=16");
  const auto device = make_cpu_device(all_ops(), 1);
  const Graph forward =
      build_graph(model.network(Loss::sparse, loss), all_ops(), {.batch = 6, .columns = model.columns()});
  Graph graph = make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
  if (micro_batches > 1) std::erase_if(graph.outputs, [](const Output& output) { return output.name != "loss"; });
  Plan plan = make_plan(graph, all_ops(), Mesh({{"data", 3}}), {.parallel = Parallel::data});
  plan = cut_micro_batches(std::move(plan), graph, Rules(graph, all_ops()), micro_batches);
  Made made{.local = partition(graph, all_ops(), plan)};
  made.schedule = make_schedule(made.local, all_ops(), device->catalog());
  return made;
}

std::string message_of(const std::string& text, const LocalGraph& local) {
  return refusal_of([&] { parse_schedule(text, local); });
}

/// Returns the text without the first line that begins with `start`.
std::string without(const std::string& text, const std::string& start) {
  const size_t at = text.find("\n" + start);
  EXPECT_NE(at, std::string::npos) << start;
  return at == std::string::npos ? text : text.substr(0, at) + text.substr(text.find('\n', at + 1));
}

TEST(ScheduleErrors, LinesThatAreWrongAreNamed) {
  const Made made = make();
  const std::string text = print(made.schedule, made.local);
  const auto refused = [&](const std::string& from, const std::string& to) {
    return message_of(replaced(text, from, to), made.local);
  };
  EXPECT_EQ(message_of("", made.local), "[schedule line 1] wrong first line, got '', expected 'partita schedule 1'");
  EXPECT_EQ(refused("schedule 1", "schedule 2"),
            "[schedule line 1] another version, got 'partita schedule 2', expected 'partita schedule 1'");
  EXPECT_EQ(refused("graph mlp", "graph lenet"),
            "[schedule line 2] a schedule of another graph, got 'lenet', expected mlp");
  EXPECT_EQ(refused("buffer %image", "buffer %imago"),
            "[schedule line 4] unknown value, got '%imago', expected a value of graph mlp");
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& part) {
    const std::string message = refused(from, to);
    EXPECT_NE(message.find("[schedule line "), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("arena ", "arena -1 ", "[schedule line 3] bad number, got '-1 ");
  expect("buffer %image bytes=", "buffer %image bytes=99999999999999999999", "bad number, got '99999999999999999999");
  expect("buffer %image bytes", "buffer %label bytes", "buffer defined twice, got '%label', expected one definition");
  expect("buffer %image bytes", "buffer %image:any bytes", "no memory format of a buffer, got 'any'");
  expect("view=%image", "view=%imago", "unknown buffer, got '%imago', expected a buffer of a line above");
  expect("input %image", "input %matmul", "unknown input, got '%matmul', expected one of graph mlp");
  expect("input %image", "input %label", "given twice, got '%label', expected it once");
  expect(" store %momentum.0", "", "wrong end of %fc1.weight, got 'no store', expected a store");
  expect(" store %momentum.0", " store %momentum2.0", "wrong stored value, got '%momentum2.0', expected %momentum.0");
  expect("output loss", "output lost", "unknown output lost");
  expect("sum f32", "summ f32", "got summ, expected sum, max or min");
  expect("over {data}", "over {date}", "unknown axis, got 'date'");
  expect("sum f32", "max f32", "bucket and node differ");
  expect("bucket 0", "bucket 1", "wrong number of a bucket, got '1', expected 0");
  expect("reduce bucket 0", "reduce bucket 1", "unknown bucket, got '1'");
  expect("%bias_add = ", "%relu = ", "wrong result of bias_add, got '%relu', expected %bias_add");
  expect("%matmul, %fc1.bias", "%matmul", "wrong number of operands of bias_add, got '1', expected 2");
  expect("%matmul, %fc1.bias", "%matmul, %fc2.bias", "wrong operand of bias_add, got '%fc2.bias'");
  expect("; bias_add\n", "; bias_odd\n", "unknown node, got 'bias_odd', expected a node of graph mlp");
  expect(" ; bias_add\n", "\n", "an instruction without its node");
  expect("; bias_add\n", "; bias_add end\n", "unexpected text, got 'end', expected the end of the line");
  expect("\nupdate", "\nupdate\nupdate", "given twice, got 'update'");
  expect("\nupdate", "\nupgrade", "unknown line, got 'upgrade'");
  expect("\nupdate", "\n%fc1.bias = copy(%fc1.weight)\nupdate", "a copy to another value");
  expect("\nupdate", "\n%fc1.bias = reorder(%fc1.weight)\nupdate", "a reorder makes another value");
}

TEST(ScheduleErrors, PartsThatDoNotFitAreRefused) {
  const Made made = make();
  const std::string text = print(made.schedule, made.local);
  const auto expect = [&](const std::string& bad, const std::string& part) {
    const std::string message = message_of(bad, made.local);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find("internal check"), std::string::npos) << message;
    EXPECT_EQ(message.find(".cpp"), std::string::npos) << message;
  };
  for (const char* line : {"graph", "arena", "input %label", "state %fc2.bias", "output loss = ", "update"}) {
    expect(without(text, line), fmt::format("[schedule] a line is missing, got none, expected '{}", line));
  }
  expect(without(text, "%relu ="),
         "[schedule] the parts do not fit together: matmul2 reads %relu, which is not there any more");
  expect(without(text, "%momentum2.0"), "the next step reads %momentum2.0");
  expect(without(text, "reduce bucket"), "before its bucket is reduced");
  expect(replaced(text, "reduce bucket 0", "reduce bucket 0\nreduce bucket 0"), "bucket 0 is reduced twice");
  expect(replaced(text, "reduce bucket 0", "wait bucket 0"), "bucket 0 is waited for and was not started");
  expect(replaced(text, "reduce bucket 0", "start bucket 0"), "a bucket is in flight at the update");
  expect(replaced(without(text, "update"), "reduce bucket", "update\nreduce bucket"), "the update reads");
  expect(replaced(text, "buffer %image bytes=", "buffer %image bytes=999"), "lies outside");
  expect(replaced(text, "buffer %label bytes=8", "buffer %label bytes=7"),
         "a buffer of %label has 7 bytes, its value 8");
  expect(replaced(text, fmt::format("arena {} ", made.schedule.arena_bytes), "arena 0 "), "lies outside");
}

TEST(ScheduleErrors, AProloguePrecedesWhatNeedsIt) {
  const Made made = make(2, {.ignore_index = -1}), other = make(2);
  const std::string text = print(made.schedule, made.local);
  EXPECT_EQ(message_of(text, made.local), "accepted");
  EXPECT_EQ(message_of(without(text, "prologue"), made.local),
            "[schedule] a line is missing, got none, expected 'prologue'");
  EXPECT_EQ(message_of(without(text, "joined"), made.local),
            "[schedule] a line is missing, got none, expected 'joined'");
  EXPECT_EQ(message_of(replaced(print(other.schedule, other.local), "\nmicro\n", "\nprologue\nmicro\n"), other.local),
            "[schedule] the graph does not have this section, got 'prologue', expected none: it has no prologue");
  const auto expect = [&](const std::string& bad, const std::string& part) {
    EXPECT_EQ(message_of(bad, made.local), "[schedule] the parts do not fit together: " + part);
  };
  expect(replaced(without(text, "prologue"), "\njoined\n", "\nprologue\njoined\n"),
         "%label is loaded outside of the micro-batches");
  expect(replaced(without(text, "joined"), "\nprologue\n", "\nprologue\njoined\n"),
         "%label is loaded outside of the micro-batches");
  const std::string load = "%label#2 = load(%label)\n";
  ASSERT_EQ(text.find(load), text.rfind(load)) << text;
}

TEST(ScheduleErrors, MicroBatchesRunAsTheGraphSays) {
  const Made made = make(2);
  const std::string text = print(made.schedule, made.local);
  EXPECT_EQ(message_of(text, made.local), "accepted");
  const auto line_of = [&](const std::string& start) {
    const size_t at = text.find("\n" + start) + 1;
    return text.substr(at, text.find('\n', at) - at + 1);
  };
  const auto moved = [&](const std::string& start, const std::string& next) {
    const std::string line = line_of(start);
    return replaced(replaced(text, line, ""), "\n" + next, "\n" + line + next);
  };
  const auto expect = [&](const std::string& bad, const std::string& part) {
    EXPECT_EQ(message_of(bad, made.local), "[schedule] the parts do not fit together: " + part);
  };
  const std::string accumulate = line_of("%reduce.accumulate = "), message = line_of("reduce bucket 0 last");
  expect(moved("%image#2 = load", "micro\n"), "%image is loaded outside of the micro-batches");
  expect(moved("%scale = ", "%matmul = "), "scale runs in every micro-batch, not once");
  expect(moved(accumulate, "update\n"), "reduce.accumulate runs once, not in every micro-batch");
  expect(replaced(text, accumulate, accumulate + accumulate), "reduce.accumulate adds a micro-batch twice");
  expect(replaced(text, message, "reduce bucket 0\n"), "bucket 0 is reduced in every micro-batch, not once");
  expect(moved("reduce bucket 0 last", "update\n"), "bucket 0 is for the last micro-batch, and outside of it");
  expect(replaced(text, "view=%image#2", "view=%image"), "%reshape is no view of %image");
  expect(replaced(text, ", %label#2)", ", %label)"), "%label has a copy for each micro-batch, and no load takes it");
  expect(replaced(replaced(text, "copies=2", ""), line_of("%image#2 = load"), ""),
         "%image has 1 copies for 2 micro-batches");
  const std::string huge = "bytes=576460752303423488 @0 copies=2";
  const std::string refused = message_of(replaced(text, line_of("buffer %image ").substr(14), huge + "\n"), made.local);
  EXPECT_EQ(refused,
            "[schedule line 4] buffer too large, got '2 times 576460752303423488 bytes', expected 2^60 bytes "
            "at most");
}

TEST(ScheduleErrors, CollectivesNeedTheirStaging) {
  const Graph graph = parse_graph(R"(partita graph 1
graph gather
input %x: f32[6,8]
%a = relu(%x) : f32[6,8] ; forward shard=((1,2))
%b = exp(%a) : f32[6,8] ; forward shard=((1,1))
output b = %b
)",
                                  all_ops());
  const PlanOptions options{.parallel = Parallel::semi, .dataset = DatasetSharding::full_batch()};
  const LocalGraph local = partition(graph, all_ops(), make_plan(graph, all_ops(), Mesh({{"ranks", 2}}), options));
  const auto device = make_cpu_device(all_ops(), 1);
  const Schedule schedule = make_schedule(local, all_ops(), device->catalog());
  EXPECT_EQ(schedule.scratch_bytes, 192);
  const std::string text = print(schedule, local);
  EXPECT_EQ(print(parse_schedule(text, local), local), text);
  const std::string less = replaced(text, "all_gather(%a) scratch=192", "all_gather(%a) scratch=191");
  const std::string message = message_of(less, local);
  EXPECT_TRUE(message.starts_with("[schedule] the parts do not fit together: ")) << message;
  EXPECT_TRUE(message.ends_with("a.all_gather has 191 bytes of scratch for staging, it needs 192")) << message;
}

TEST(ScheduleErrors, NoTextCrashesTheReader) {
  const Made made = make();
  const std::string text = print(made.schedule, made.local);
  std::mt19937 random(1);  // NOLINT: the same texts in every run
  const auto below = [&](size_t count) { return static_cast<size_t>(random()) % count; };
  constexpr std::string_view kPieces[] = {"%",  ":", "@", "-1",          "9223372036854775807",
                                          "\n", "=", "(", "view=%image", ""};
  for (int round = 0; round < 3000; ++round) {
    std::string bad = text;
    for (size_t change = below(3) + 1; change > 0; --change) {
      const size_t at = below(bad.size()), other = below(bad.size());
      const size_t count = below(12);
      if (round % 3 == 0) bad.replace(at, count, kPieces[below(std::size(kPieces))]);
      if (round % 3 == 1) bad.replace(at, count, bad.substr(other, count));
      if (round % 3 == 2) bad[at] = static_cast<char>(below(256));
    }
    EXPECT_NO_FATAL_FAILURE(message_of(bad, made.local));  // any error other than InvalidArgument ends the test
  }
}

}  // namespace
}  // namespace partita
