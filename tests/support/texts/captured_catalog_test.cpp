#include "support/texts/captured_catalog.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

LocalGraph make_local(const std::string& spec, int ranks, int64_t batch) {
  const ZooModel model = make_model(spec);
  const Graph forward =
      build_graph(model.network(Loss::sparse), all_ops(), {.batch = batch, .columns = model.columns()});
  const Graph graph = make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
  const Mesh mesh = ranks > 1 ? Mesh({{"data", ranks}}) : Mesh();
  return partition(graph, all_ops(), make_plan(graph, all_ops(), mesh, {.parallel = Parallel::hybrid}));
}

TEST(CapturedCatalog, MakesTheSameScheduleAsTheDevice) {
  for (const char* model : {"mlp", "lenet", "resnet18:width=8,size=16"}) {
    for (const auto& [ranks, batch] : {std::pair(1, 6), std::pair(3, 6), std::pair(3, 7)}) {
      const LocalGraph local = make_local(model, ranks, batch);
      const auto device = make_cpu_device(all_ops(), 1);
      const std::string expected = print(make_schedule(local, all_ops(), device->catalog()), local);
      const RecordingCatalog recording(device->catalog());
      EXPECT_EQ(print(make_schedule(local, all_ops(), recording), local), expected);
      const std::unique_ptr<KernelCatalog> captured = parse_catalog(print(recording));
      const RecordingCatalog again(*captured);
      EXPECT_EQ(print(make_schedule(local, all_ops(), again), local), expected) << model << " on " << ranks;
      EXPECT_EQ(print(again), print(recording));
    }
  }
}

/// Refuses every query, with a reason that is hard to write on one line.
class Refusing final : public KernelCatalog {
 public:
  KernelChoice choose(const KernelQuery&) const override {
    KernelChoice choice;
    choice.reason = "no\nsuch => kernel";
    return choice;
  }
  int64_t bytes(const Type& type, const MemoryFormat&) const override { return type.bytes(); }
};

TEST(CapturedCatalog, AnswersOnlyWhatItKnows) {
  const Type type{DType::f32, {2, 3}};
  KernelQuery query{.op = "relu", .inputs = {type}, .outputs = {type}, .input_formats = {MemoryFormat{}}};
  const Refusing refusing;
  const RecordingCatalog recording(refusing);
  recording.choose(query);
  recording.bytes(type, {"acdb", 24});
  recording.bytes(type, MemoryFormat{});
  EXPECT_EQ(print(recording),
            "partita catalog 1\n"
            "choose relu(f32[2,3]) -> f32[2,3] => refused: no such = > kernel\n"
            "bytes f32[2,3]:acdb/24 => 24\n");
  const auto captured = parse_catalog(print(recording));
  EXPECT_FALSE(captured->choose(query).accepted());
  EXPECT_EQ(captured->choose(query).reason, "no such = > kernel");
  query.input_formats[0] = {"acdb", 24};
  EXPECT_EQ(captured->choose(query).reason, "not in the captured catalog: relu(f32[2,3]:acdb/24) -> f32[2,3]");
  EXPECT_EQ(captured->bytes(type, MemoryFormat{}), 24);
  EXPECT_EQ(captured->bytes(type, {"acdb", 24}), 24);
  EXPECT_THROW(static_cast<void>(captured->bytes(type, {"ba", 24})), InvalidArgument);
}

TEST(CapturedCatalog, AnswersAreReadAsTheyWereGiven) {
  const auto catalog = parse_catalog(
      "partita catalog 1\n"
      "# two operands, two results\n"
      "choose f(f32[2,3]:any, i32[]) {kind=\"a like b -> c\"} -> f32[2,3], f32[2] like "
      "k.f(acdb/48, plain) -> acdb/48, plain => k.f(acdb/32, plain) -> acdb/32, plain scratch=64 in_place=0:0,1:1 ; "
      "others: no\n");
  struct FAttrs {
    std::string kind = "a like b -> c";
    static constexpr auto fields() { return std::tuple{field("kind", &FAttrs::kind)}; }
  };
  const Type type{DType::f32, {2, 3}};
  const KernelChoice choice = catalog->choose(
      {.op = "f",
       .attrs = Attrs(FAttrs{}),
       .inputs = {type, {DType::i32, {}}},
       .outputs = {type, {DType::f32, {2}}},
       .input_formats = {{"any", 0}, {"plain", 0}},
       .like = KernelChoice{
           .kernel = "k.f", .inputs = {{"acdb", 48}, {"plain", 0}}, .outputs = {{"acdb", 48}, {"plain", 0}}}});
  EXPECT_EQ(choice.kernel, "k.f");
  EXPECT_EQ(choice.inputs, (std::vector<MemoryFormat>{{"acdb", 32}, {"plain", 0}}));
  EXPECT_EQ(choice.outputs, (std::vector<MemoryFormat>{{"acdb", 32}, {"plain", 0}}));
  EXPECT_EQ(choice.scratch_bytes, 64);
  EXPECT_EQ(choice.in_place, (std::vector<std::pair<int, int>>{{0, 0}, {1, 1}}));
  EXPECT_FALSE(choice.view);
  EXPECT_EQ(choice.reason, "others: no");
}

TEST(CapturedCatalog, BadTextsAreRefused) {
  const auto refused = [](const std::string& lines) -> std::string {
    try {
      parse_catalog("partita catalog 1\n" + lines);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string query = "choose f(f32[2]) -> f32[2] => ";
  EXPECT_EQ(refused("\n" + query + "k(plain) -> plain"), "accepted");
  EXPECT_EQ(refused("chose f"), "[catalog line 2] unknown line, got 'chose', expected choose or bytes");
  EXPECT_EQ(refused("\n" + query + "k(plain) -> plain, plain"),
            "[catalog line 3] wrong number of memory formats of results, got ', plain', expected 1");
  const auto expect = [&](const std::string& lines, const std::string& part) {
    const std::string message = refused(lines);
    EXPECT_TRUE(message.starts_with("[catalog line ")) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("choose f(f32[2]) -> f32[2]", "expected ' => ' after it");
  expect("choose f[f32[2]) -> f32[2] => k(plain) -> plain", "no query");
  expect("choose f(f32[2) -> f32[2] => k(plain) -> plain", "unexpected text, got 'f32[2', expected ']' after it");
  expect("choose f(f32[2], ) -> f32[2] => k(plain) -> plain", "unexpected text, got '', expected ']' after it");
  expect(query, "unexpected text");
  expect(query + "k() -> plain", "expected a name");
  expect(query + "k(any) -> plain", "an answer leaves a memory format free");
  expect(query + "k(plain/8) -> plain", "bad memory format, got 'plain/8'");
  expect(query + "k(acdb/-8) -> plain", "bad number, got '-8");
  expect(query + "k(plain) -> plain scratch=99999999999999999999", "bad number, got '99999999999999999999'");
  expect(query + "k(plain) -> plain in_place=0:1", "bad number, got '1', expected less than 1");
  expect(query + "k(plain) -> plain end", "unexpected text, got 'end', expected the end of the line");
  expect("choose f() -> f32[2] => k() -> plain view", "no view");
  expect("choose f(f32[2]) -> f32[3] => k(plain) -> plain view", "no view");
  expect(query + "k(plain) -> plain\n" + query + "refused: no", "query given twice, got 'f(f32[2]) -> f32[2]'");
  expect("bytes f32[2]:a/9 => 8", "too few bytes, got '8', expected 9");
  expect("bytes f32[2]:a => 7", "too few bytes, got '7', expected 8");
  expect("bytes f32[2] => 8", "no memory format, got 'f32[2]', expected TYPE:FORMAT");
  EXPECT_THROW(parse_catalog(""), InvalidArgument);
  EXPECT_THROW(parse_catalog("partita catalog 2\n"), InvalidArgument);
}

}  // namespace
}  // namespace partita
