#include "compiler/schedule/choose_kernels.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

LocalGraph local_of(std::string_view text, int64_t ranks, const PlanOptions& options) {
  const Graph graph = parse_graph(text, all_ops());
  return partition(graph, all_ops(), make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options));
}

constexpr std::string_view kProduct = R"(partita graph 1
graph product
input %x: f32[10,6] batch=0
state %w: f32[6,5] parameter normal(0,1)
%y = matmul(%x, %w) : f32[10,5]
output y = %y
)";

const PlanOptions kUneven{.parallel = Parallel::hybrid};

/// Answers `matmul` queries with a given function, others with plain memory formats and no scratch. Counts the queries.
class Told final : public KernelCatalog {
 public:
  std::function<KernelChoice(const KernelQuery&, KernelChoice plain)> matmul;
  mutable int asked = 0;

  KernelChoice choose(const KernelQuery& query) const override {
    ++asked;
    KernelChoice choice{.kernel = query.like ? query.like->kernel : "told",
                        .inputs = std::vector<MemoryFormat>(query.inputs.size()),
                        .outputs = std::vector<MemoryFormat>(query.outputs.size())};
    return query.op == "matmul" && matmul ? matmul(query, choice) : choice;
  }
  int64_t bytes(const Type& type, const MemoryFormat&) const override { return type.bytes(); }
};

int64_t rows_of(const KernelQuery& query) { return query.inputs[0].shape[0]; }

const Instruction& only(const Schedule& schedule) {
  EXPECT_EQ(schedule.instructions.size(), 1u);
  return schedule.instructions[0];
}

TEST(ChooseKernels, TheMostScratchOfAllShards) {
  // Four ranks hold 2, 3, 2 and 3 of 10 rows.
  Told catalog;
  catalog.matmul = [](const KernelQuery& query, KernelChoice choice) {
    choice.scratch_bytes = rows_of(query) == 2 ? 4096 : 64;
    choice.in_place = rows_of(query) == 2 ? std::vector<std::pair<int, int>>{{1, 0}}
                                          : std::vector<std::pair<int, int>>{{0, 0}, {1, 0}};
    return choice;
  };
  const Schedule schedule = choose_kernels(local_of(kProduct, 4, kUneven), all_ops(), catalog);
  EXPECT_EQ(only(schedule).choice.scratch_bytes, 4096);
  EXPECT_EQ(only(schedule).choice.in_place, (std::vector<std::pair<int, int>>{{1, 0}}));
  EXPECT_EQ(catalog.asked, 2);
}

TEST(ChooseKernels, OneKernelForAllShards) {
  Told catalog;
  // The best kernel accepts only three rows; the other accepts any number.
  catalog.matmul = [](const KernelQuery& query, KernelChoice choice) {
    const bool wants_best = query.like ? query.like->kernel == "best" : rows_of(query) == 3;
    if (query.like && wants_best && rows_of(query) != 3) return KernelChoice{.reason = "three rows alone"};
    choice.kernel = wants_best ? "best" : "general";
    return choice;
  };
  const LocalGraph local = local_of(kProduct, 4, kUneven);
  EXPECT_EQ(only(choose_kernels(local, all_ops(), catalog)).choice.kernel, "general");
  // No kernel accepts both numbers of rows.
  catalog.matmul = [](const KernelQuery& query, KernelChoice choice) {
    choice.kernel = rows_of(query) == 3 ? "three" : "two";
    return query.like && query.like->kernel != choice.kernel ? KernelChoice{.reason = "other rows"} : choice;
  };
  try {
    choose_kernels(local, all_ops(), catalog);
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[schedule] no single kernel serves all parts of y, got matmul(f32[3,6], f32[6,5]) and "
                 "matmul(f32[2,6], f32[6,5]), expected another cut");
  }
}

// The number of queries depends on the distinct shards, not on the number of ranks.
TEST(ChooseKernels, FewQuestionsForManyRanks) {
  const auto questions = [](std::string_view text, int64_t ranks, const PlanOptions& options) {
    const Told catalog;
    const Schedule schedule = choose_kernels(local_of(text, ranks, options), all_ops(), catalog);
    EXPECT_EQ(schedule.instructions.size(), 1u);
    return catalog.asked;
  };
  const auto product = [](int64_t rows, int64_t inner, int64_t columns) {
    return fmt::format(R"(partita graph 1
graph product
input %x: f32[{0},{1}] batch=0
state %w: f32[{1},{2}] parameter normal(0,1)
%y = matmul(%x, %w) : f32[{0},{2}] ; forward shard=((128,1),(1,128))
output y = %y
)",
                       rows, inner, columns);
  };
  const PlanOptions annotated{.parallel = Parallel::semi, .dataset = parse_dataset_sharding("((128,1))")};
  EXPECT_EQ(questions(product(1280, 6, 1280), 16'384, annotated), 1);
  EXPECT_EQ(questions(product(1281, 6, 1280), 16'384, annotated), 2);
  EXPECT_EQ(questions(product(1281, 6, 1283), 16'384, annotated), 4);
  // Rows of an image with padding: the first and the last part differ, and those between have up to two sizes.
  const auto image = [](int64_t height) {
    return fmt::format(R"(partita graph 1
graph image
input %x: f32[1,1,{0},4] batch=0
state %w: f32[1,1,3,3] parameter normal(0,1)
%y = conv2d(%x, %w) {{pads=[1,1,1,1]}} : f32[1,1,{0},4] ; forward shard=((1,1,64,1),(1,1,1,1))
output y = %y
)",
                       height);
  };
  const PlanOptions rows{.parallel = Parallel::semi, .dataset = parse_dataset_sharding("((1,1,64,1))")};
  const Told catalog;
  choose_kernels(local_of(image(256), 64, rows), all_ops(), catalog);
  EXPECT_EQ(catalog.asked, 3);
  const Told uneven;
  choose_kernels(local_of(image(250), 64, rows), all_ops(), uneven);
  EXPECT_EQ(uneven.asked, 4);
}

// The schedule's kernels can be created for every shard of every rank, and none needs more scratch than it says.
TEST(ChooseKernels, KernelsOfTheDeviceServeEveryRank) {
  const auto device = make_cpu_device(all_ops(), 1);
  for (const int ranks : {3, 4}) {
    for (const char* model : {"mlp:hidden=33", "resnet18:width=5,size=10"}) {
      const ZooModel made = make_model(model);
      const Graph forward = build_graph(made.network(Loss::sparse), all_ops(), {.batch = 7, .columns = made.columns()});
      const Graph graph = make_training_graph(forward, all_ops(), {.optimizer = made.recipe.optimizer}).graph;
      const PlanOptions options{.parallel = Parallel::automatic};
      const LocalGraph local =
          partition(graph, all_ops(), make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options));
      const Schedule schedule = choose_kernels(local, all_ops(), device->catalog());
      for (const Instruction& instruction : schedule.instructions) {
        if (instruction.kind != Instruction::compute) continue;
        const Node& node = local.graph.nodes[instruction.node];
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const std::vector<int64_t> at = local.mesh.coordinates(rank);
          KernelQuery query{.op = node.op, .attrs = local.attrs(instruction.node, at, Rules(local.graph, all_ops()))};
          for (ValueId input : node.inputs) query.inputs.push_back(local.type(input, at));
          for (ValueId output : node.outputs) query.outputs.push_back(local.type(output, at));
          query.input_formats = instruction.choice.inputs;
          EXPECT_NO_THROW(device->make_kernel(query, instruction.choice)) << node.name << " on rank " << rank;
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
