// Plans and local graphs as text: what is written is read back, and what does not fit is refused.

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "base/test_refusal.h"
#include "compiler/partition/collectives.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/print_rank.h"
#include "compiler/search/make_plan.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/texts/texts.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Program text_program_of(const std::string& spec, int ranks, int64_t statistics_groups = 1) {
  const ZooModel model = make_model(spec);
  const auto device = make_cpu_device(all_ops(), 1);
  BuildOptions options{.batch = 12, .columns = model.columns()};
  options.statistics_groups = statistics_groups;
  return compile(build_graph(model.network(Loss::sparse), all_ops(), options), all_ops(), device->catalog(),
                 {.ranks = ranks, .training = TrainingOptions{}});
}

TEST(Text, PlansAreReadBack) {
  for (int ranks : {1, 2, 6}) {
    const Program program = text_program_of("lenet", ranks);
    const std::string text = print(program.plan(), program.graph, all_ops());
    const Plan plan = parse_plan(text, program.graph, all_ops());
    EXPECT_EQ(print(plan, program.graph, all_ops()), text);
    EXPECT_EQ(plan.cuts, program.plan().cuts);
    EXPECT_EQ(plan.inputs, program.plan().inputs);
    // Every rank has all logits.
    Plan whole = plan;
    whole.outputs["logits"] = {{}, {}};
    const std::string more = print(whole, program.graph, all_ops());
    EXPECT_TRUE(more.ends_with("output logits {} {}\n")) << more;
    EXPECT_EQ(parse_plan(more, program.graph, all_ops()).outputs, whole.outputs);
    const LocalGraph local = partition(program.graph, all_ops(), whole);
    EXPECT_TRUE(local.shardings[local.graph.output("logits")].replicated());
  }
}

TEST(Text, BadPlansAreRefused) {
  const Program program = text_program_of("mlp:hidden=16", 2);
  const std::string text = print(program.plan(), program.graph, all_ops());
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string bad = replaced(text, from, to);
    return refusal_of([&] { parse_plan(bad, program.graph, all_ops()); });
  };
  EXPECT_EQ(refused("partita plan 1", "partita plan 2"),
            "[plan line 1] not a plan of this version, got 'partita plan 2', expected 'partita plan 1'");
  EXPECT_EQ(refused("mesh data=2", "mesh data=x").substr(0, 13), "[plan line 4]");
  EXPECT_NE(refused("{data}", "{date}").find("unknown axis, got 'date', expected one of data, did you mean 'data'?"),
            std::string::npos);
  EXPECT_EQ(refused("graph mlp", "graph mlp\ngraph mlp"), "[plan line 3] given twice, got 'graph', expected it once");
  EXPECT_EQ(refused("search ", "search x\nsearch "), "[plan line 4] given twice, got 'search', expected it once");
  EXPECT_EQ(
      refused("node matmul i={data}", "node matmul i={data} k={data}"),
      "[plan] illegal cut of matmul: axis data cuts two factors or one twice, got 'i={data} k={data}', expected a "
      "legal cut of ik,jk->ij | i=12 k=784 j=16");
  EXPECT_NE(refused("node relu", "node relo").find("unknown node, got 'relo'"), std::string::npos);
  EXPECT_NE(refused("node ", "output lost {}\nnode ").find("unknown output, got 'lost'"), std::string::npos);
  EXPECT_NE(refused("node ", "output loss {data}\nnode ").find("wrong number of dimensions"), std::string::npos);
  EXPECT_NE(refused("node ", "output logits {data} {data}\nnode ")
                .find(": an axis cuts two dimensions, got '{data} {data}', expected axes that fit f32[12,10]"),
            std::string::npos);
  EXPECT_NE(refused("node ", "edge ").find("unknown line, got 'edge'"), std::string::npos);
  EXPECT_NE(refused("node matmul i=", "node matmul z=").find("unknown factor, got 'z={data}'"), std::string::npos);
  EXPECT_NE(refused("input %image {data} {}", "input %image {data}").find("wrong number of dimensions"),
            std::string::npos);
}

TEST(Text, PlansMayBeEditedByHand) {
  const Program program = text_program_of("mlp:hidden=16", 2);
  const std::string text = print(program.plan(), program.graph, all_ops());
  const auto read = [&](const std::string& more) { return parse_plan(text + more, program.graph, all_ops()); };
  const auto relu = std::find_if(program.graph.nodes.begin(), program.graph.nodes.end(),
                                 [](const Node& node) { return node.name == "relu"; });
  const auto at = relu - program.graph.nodes.begin();
  EXPECT_TRUE(is_cut(read("\n# comment\n").cuts[at]));
  EXPECT_FALSE(is_cut(read("node relu\n").cuts[at]));  // a line without factors cuts nothing
  const auto line = std::count(text.begin(), text.end(), '\n') + 1;
  EXPECT_EQ(
      refusal_of([&] { read("mesh data=2\n"); }),
      fmt::format("[plan line {}] a second mesh, or one after a cut, got 'mesh data=2', expected one, before all cuts",
                  line));
  EXPECT_EQ(refusal_of([&] { read("result %image {} {}\n"); }),
            fmt::format(
                "[plan line {}] no node computes the value, got '%image', expected a result; others have 'input' lines",
                line));
  EXPECT_EQ(refusal_of([&] { read("input image {} {}\n"); }),
            fmt::format("[plan line {}] unknown input or state, got 'image', expected one of graph mlp", line));
}

TEST(Text, LocalGraphsAreReadBack) {
  for (const char* model : {"mlp:hidden=16", "lenet", "resnet18:width=4,size=8"}) {
    for (int ranks : {1, 2, 3, 6}) {
      const Program program = text_program_of(model, ranks, /*statistics_groups=*/ranks == 3 ? 3 : 1);
      const std::string text = print(program.local(), all_ops());
      const LocalGraph local = parse_local_graph(text, all_ops());
      EXPECT_EQ(print(local, all_ops()), text) << model << " on " << ranks;
      EXPECT_EQ(local.cuts, program.local().cuts);
    }
  }
}

ReshardedGraph resharded_on(const std::string& spec, int ranks, Parallel parallel) {
  const ZooModel model = make_model(spec);
  const BuildOptions options{.batch = 24, .columns = model.columns()};
  const Graph forward = build_graph(model.network(Loss::sparse), all_ops(), options);
  const Graph graph = make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
  const PlanOptions plan{.parallel = parallel};
  return insert_reshards(graph, all_ops(), make_plan(graph, all_ops(), make_mesh(graph, ranks, plan), plan));
}

TEST(Text, ReshardedGraphsAreReadBack) {
  int64_t reshards = 0;
  for (const char* model : {"mlp:hidden=16", "lenet", "resnet18:width=4,size=8", "gpt:layers=2,hidden=24,heads=2,seq=8",
                            "moe:layers=2,hidden=24,heads=2,seq=8", "llama:layers=2,hidden=24,heads=2,seq=8"}) {
    for (const Parallel parallel : {Parallel::data, Parallel::hybrid, Parallel::automatic}) {
      for (int ranks : {1, 2, 3, 4, 6, 8}) {
        const ReshardedGraph resharded = resharded_on(model, ranks, parallel);
        const std::string text = print(resharded, all_ops());
        const ReshardedGraph read = parse_resharded_graph(text, all_ops());
        EXPECT_EQ(print(read, all_ops()), text) << model << " on " << ranks;
        EXPECT_EQ(read.cuts, resharded.cuts);
        EXPECT_EQ(read.shardings, resharded.shardings);
        // What is read is lowered as what was made; of collectives the first pass knows nothing.
        const std::string local = print(partition(resharded), all_ops());
        EXPECT_EQ(print(partition(read), all_ops()), local);
        for (const Node& node : read.graph.nodes) EXPECT_FALSE(is_collective(node)) << node.name;
        EXPECT_EQ(text == local, ranks == 1);
        reshards += std::count_if(read.graph.nodes.begin(), read.graph.nodes.end(), is_reshard);
      }
    }
  }
  EXPECT_GT(reshards, 500);
}

std::string dumped(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Text, TheDumpOfReshardsLeadsToThatOfThePartition) {
  const TempDir folder;
  const ZooModel model = make_model("lenet");
  const auto device = make_cpu_device(all_ops(), 1);
  Network network = model.network(Loss::sparse);
  const Graph forward = build_graph(network, all_ops(), {.batch = 12, .columns = model.columns()});
  CompileOptions options{.ranks = 4, .training = TrainingOptions{}, .passes = {.dump_dir = folder.path().string()}};
  options.plan.parallel = Parallel::automatic;
  // Halos, and a convolution whose channels are a sum.
  options.annotations = {{"net/conv1/conv2d", parse_annotation("((1,1,4,1),(1,1,1,1))")},
                         {"net/conv2/conv2d", parse_annotation("((1,2,2,1),(1,2,1,1))")}};
  compile(forward, all_ops(), device->catalog(), options);
  const std::string text = dumped(folder.path() / "4_reshard.txt");
  EXPECT_NE(text.find("= reshard("), std::string::npos);
  const LocalGraph local = partition(parse_resharded_graph(text, all_ops()));
  EXPECT_EQ(print(local, all_ops()), dumped(folder.path() / "4_partition.txt"));
  for (const Collective kind : {Collective::halo_exchange, Collective::all_reduce, Collective::all_gather}) {
    EXPECT_TRUE(std::any_of(local.graph.nodes.begin(), local.graph.nodes.end(), [&](const Node& node) {
      return performs(node, kind);
    })) << name_of(kind);
  }
}

/// On so many ranks that texts must not list them.
LocalGraph local_on(const std::string& spec, int64_t ranks, Parallel parallel) {
  const ZooModel model = make_model(spec);
  const Graph forward =
      build_graph(model.network(Loss::sparse), all_ops(), {.batch = ranks, .columns = model.columns()});
  const Graph graph = make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
  const PlanOptions options{.parallel = parallel};
  return partition(graph, all_ops(), make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options));
}

TEST(Text, LocalGraphsOfManyRanksStayShort) {
  for (const Parallel parallel : {Parallel::data, Parallel::automatic}) {
    const std::string few = print(local_on("gpt:layers=16,hidden=64,seq=16", 4, parallel), all_ops());
    const LocalGraph many = local_on("gpt:layers=16,hidden=64,seq=16", 16'384, parallel);
    const int64_t collectives = std::count_if(many.graph.nodes.begin(), many.graph.nodes.end(), is_collective);
    EXPECT_GE(collectives, 190);
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = print(many, all_ops());
    const LocalGraph read = parse_local_graph(text, all_ops());
    EXPECT_EQ(print(read, all_ops()), text);
    EXPECT_EQ(read.cuts, many.cuts);
    EXPECT_EQ(read.shardings, many.shardings);
    // Names of fourteen sub-axes in place of two, and no more.
    EXPECT_LT(text.size(), 4 * few.size());
    EXPECT_LT(print_rank(many, all_ops(), 16'383).size(), 4 * few.size());
    EXPECT_NE(text.find("group=(0,1,2,..,16383) bytes="), std::string::npos);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, 20) << "for three texts and a reading, which take a tenth of a second on one core";
  }
}

TEST(Text, BadLocalGraphsAreRefused) {
  const std::string text = print(text_program_of("mlp:hidden=16", 3).local(), all_ops());
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string bad = replaced(text, from, to);
    return refusal_of([&] { parse_local_graph(bad, all_ops()); });
  };
  EXPECT_NE(refused("mesh data=3", "mesh data=13").find("fewer elements than parts"), std::string::npos);
  EXPECT_NE(refused("image: f32[12{data}", "image: f32[12{data,data}").find("an axis is used twice"),
            std::string::npos);
  EXPECT_NE(refused("image: f32[12{data}", "image: f32[12").find("[local graph] the parts do not fit together"),
            std::string::npos);
  EXPECT_NE(refused("+sum{data}", "+sum{model}").find("unknown axis, got 'model'"), std::string::npos);
  EXPECT_NE(refused("+sum{data}", "+sun{data}").find("sun"), std::string::npos);
  EXPECT_NE(refused(" cut i={data}", " cut q={data}").find("unknown factor"), std::string::npos);
  EXPECT_EQ(refusal_of([&] { parse_graph(text, with_collectives(all_ops())); }),
            "[graph] the graph has a mesh, got 'mesh data=3', expected a graph that is not split");
}

TEST(Text, EveryFaultNamesItsLine) {
  const std::string text = print(text_program_of("mlp:hidden=16", 3).local(), all_ops());
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& message) {
    const int64_t line = std::count(text.begin(), text.begin() + static_cast<int64_t>(text.find(from)), '\n') + 1;
    const std::string bad = replaced(text, from, to);
    const std::string refused = refusal_of([&] { parse_local_graph(bad, all_ops()); });
    EXPECT_TRUE(refused.starts_with(fmt::format("[graph line {}] {}", line, message))) << refused;
  };
  expect("mesh data=3", "mesh data=x", "[mesh] ");
  expect("f32[12{data}", "f32[12{date}", "[mesh] unknown axis, got 'date', expected one of data");
  expect("cut i={data}", "cut q={data}", "[sharding] unknown factor, got 'q={data}'");
  expect("cut i={data}", "cut i={data} k={data}",
         "[local graph] illegal cut of matmul: axis data cuts two factors or one twice, got 'i={data} k={data}', "
         "expected a legal cut of ik,jk->ij | i=12 ");
}

/// A convolution of `rows` rows, cut along them.
LocalGraph local_convolution(int64_t rows, int64_t pad, int64_t ranks) {
  const Graph graph = parse_graph(fmt::format(R"(partita graph 1
graph halo
input %x: f32[1,1,{0},4]
input %w: f32[1,1,3,3]
%y = conv2d(%x, %w) {{pads=[{1},1,{1},1]}} ; forward shard=((1,1,{2},1),(1,1,1,1))
output y = %y
)",
                                              rows, pad, ranks),
                                  all_ops());
  const PlanOptions options{.parallel = Parallel::semi, .dataset = DatasetSharding::full_batch()};
  return partition(graph, all_ops(), make_plan(graph, all_ops(), Mesh({{"ranks", ranks}}), options));
}

TEST(Text, HalosOfFewerRowsThanPartsAreReadBack) {
  for (const auto& [rows, pad, ranks] : {std::array<int64_t, 3>{8, 1, 2}, {3, 2, 5}, {2, 2, 4}}) {
    const LocalGraph local = local_convolution(rows, pad, ranks);
    const std::string text = print(local, all_ops());
    EXPECT_NE(text.find("halo_exchange("), std::string::npos) << text;
    EXPECT_EQ(print(parse_local_graph(text, all_ops()), all_ops()), text);
  }
}

TEST(Text, HalosThatFitNoNodeAreRefused) {
  const std::string text = print(local_convolution(8, 1, 2), all_ops());
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string bad = replaced(text, from, to);
    return refusal_of([&] { parse_local_graph(bad, all_ops()); });
  };
  const std::string start = "[local graph] the parts do not fit together: ", halo = "ranks|s1d1k3p1n8";
  const size_t at = text.find("%x.slice_shard.halo_exchange = "), end = text.find(" ;", at);
  ASSERT_NE(at, std::string::npos) << text;
  const std::string node = text.substr(at, end - at);
  const std::string dead =
      replaced(replaced(node, "%x.slice_shard.halo_exchange", "%dead"), halo, "ranks|s9d9k9p9n999");
  EXPECT_EQ(refused(node, dead + "\n" + node), start + "%dead has halos that no node reads");
  EXPECT_EQ(refused(node, replaced(node, "s1d1k3p1n8", "s1d1k3p1n7")),
            start + "y: operand 0 does not lie as the cut needs it");
  EXPECT_EQ(refused("axes=[\"ranks\"], dim=-1", "axes=[], dim=-1"),
            start + "x.slice_shard.halo_exchange exchanges halos over other axes than those that cut");
  EXPECT_EQ(refused("%x: f32[1,1,8", "%x: f32[1,1,8{" + halo + "}"), start + "%x enters with halos");
  EXPECT_EQ(refused("output y = %y", "output y = %y\noutput x = %x.slice_shard.halo_exchange"),
            start + "output x has halos");
}

// A micro-batch that needs the sum over all of them; what is kept in place of it; unequal slices.
constexpr const char* kMicroBatches = R"(partita graph 1
graph micro
mesh data=2 | micro=2
input %x: f32[8{micro,data},3] batch=0
state %w: f32[8,3] parameter zeros
%sum = reduce(%x) {kind=sum, axes=[0,1], keep_dims=false, scale=1} : f32[] +sum{data,micro} ; forward cut a={micro,data}
%all = accumulate(%sum) {axes=["micro"], dim=-1, to_dim=-1, reduce=sum, reason="forward"} : f32[] +sum{data} ; forward
%loss = all_reduce(%all) {axes=["data"], dim=-1, to_dim=-1, reduce=sum, reason="forward"} : f32[] ; forward
output loss = %loss
)";

TEST(Text, PlansOfMicroBatchesAreReadBackOrRefused) {
  const ZooModel model = make_model("mlp:hidden=16");
  const auto device = make_cpu_device(all_ops(), 1);
  const Graph forward = build_graph(model.network(Loss::sparse), all_ops(), {.batch = 12, .columns = model.columns()});
  const Program program = compile(forward, all_ops(), device->catalog(),
                                  {.ranks = 3, .plan = {.micro_batches = 2}, .training = TrainingOptions{}});
  const std::string text = print(program.plan(), program.graph, all_ops());
  EXPECT_EQ(print(parse_plan(text, program.graph, all_ops()), program.graph, all_ops()), text);
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string bad = replaced(text, from, to);
    return refusal_of([&] { parse_plan(bad, program.graph, all_ops()); });
  };
  const std::string start = "[plan] micro-batches do not cut ", why = " as its operands and users need it, got ";
  EXPECT_EQ(refused("node matmul i={micro,data}", "node matmul i={data}"),
            start + "matmul" + why + "'{data} {} {}', expected '{micro} {} {}' and then axes of ranks");
  EXPECT_EQ(refused("node matmul i={micro,data}", "node matmul i={data,micro}"),
            start + "matmul" + why + "'{data,micro} {} {}', expected '{micro} {} {}' and then axes of ranks");
  EXPECT_EQ(refused("input %image {micro,data} {}", "input %image {data} {}").substr(0, 38), start + "%image");
  EXPECT_EQ(refused("input %label", "input %fc2.bias {micro}\ninput %label").substr(0, 41), start + "%fc2.bias");
}

TEST(Text, MicroBatchesThatDoNotFitAreRefused) {
  const std::string text = kMicroBatches, start = "[local graph] the parts do not fit together: ";
  const auto read = [](const std::string& bad) { return refusal_of([&] { parse_local_graph(bad, all_ops()); }); };
  const auto refused = [&](const std::string& from, const std::string& to) { return read(replaced(text, from, to)); };
  EXPECT_EQ(read(text), "accepted");
  // What a prologue makes for a node of a micro-batch; its own slices, and what needs another prologue first.
  const std::string scaled = "%y = mul(%x, %loss) : f32[8{micro,data},3] ; forward cut a={micro,data}\n";
  EXPECT_EQ(refused("output", scaled + "output"), "accepted");
  const std::string shared = "%z = add(%x, %x) : f32[8{micro,data},3] ; forward cut a={micro,data}\n";
  EXPECT_EQ(read(replaced(replaced(replaced(text, "output",
                                            scaled + "%u = add(%z, %z) : f32[8{micro,data},3] ; forward "
                                                     "cut a={micro,data}\noutput"),
                                   "%sum", shared + "%sum"),
                          "reduce(%x)", "reduce(%z)")),
            start + "z runs in the prologue, and a node after it uses its slices");
  const std::string again =
      "%sum2 = reduce(%y) {kind=sum, axes=[0], keep_dims=false, scale=1} : f32[3] +sum{data,micro} ; forward cut "
      "a={micro,data}\n%all2 = accumulate(%sum2) {axes=[\"micro\"], dim=-1, to_dim=-1, reduce=sum, "
      "reason=\"forward\"} : f32[3] +sum{data} ; forward\n%far = all_reduce(%all2) {axes=[\"data\"], dim=-1, "
      "to_dim=-1, reduce=sum, reason=\"forward\"} : f32[3] ; forward\n%w2 = mul(%x, %far) : f32[8{micro,data},3] ; "
      "forward cut a={micro,data}\n";
  EXPECT_EQ(refused("output", scaled + again + "output"), start + "y runs in a micro-batch and needs all of them");
  EXPECT_EQ(refused("output", "output x = %x\noutput"), start + "%x is of one micro-batch, not of all");
  EXPECT_EQ(refused("%w: f32[8,3]", "%w: f32[8{micro},3]"), start + "%w is of one micro-batch, not of all");
  EXPECT_EQ(refused("%x: f32[8{micro,data},3]", "%x: f32[9{micro,data},3]"),
            start + "%x of f32[9,3] does not divide into 2 micro-batches");
  EXPECT_EQ(read(replaced(replaced(text, "8{micro,data}", "8{data,micro}"), "a={micro,data}", "a={data,micro}")),
            start + "%x is cut into micro-batches after ranks");
  EXPECT_EQ(refused("accumulate(%sum) {axes=[\"micro\"]", "all_reduce(%sum) {axes=[\"micro\"]"),
            start + "all is over micro-batches, which no rank sends to another");
}

TEST(Text, BadReshardedGraphsAreRefused) {
  const std::string text = print(resharded_on("mlp:hidden=16", 3, Parallel::data), all_ops());
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string bad = replaced(text, from, to);
    return refusal_of([&] { parse_resharded_graph(bad, all_ops()); });
  };
  const size_t at = text.find(".reshard = reshard(");
  ASSERT_NE(at, std::string::npos);
  const size_t line = text.rfind('\n', at) + 1;
  const std::string reshard = text.substr(line, text.find('\n', at) - line);
  const std::string operand = reshard.substr(0, reshard.find(".reshard"));
  EXPECT_EQ(
      refused(reshard, replaced(reshard, "reshard(" + operand + ")", "reshard(" + operand + ", " + operand + ")")),
      fmt::format("[graph line {}] [reshard] wrong number of operands, got 2, expected 1",
                  std::count(text.begin(), text.begin() + static_cast<int64_t>(line), '\n') + 1));
  // A reshard that leaves its value where it is.
  const std::string sum = " +sum{data}";
  const size_t type = reshard.find(" ;");
  EXPECT_NE(refused(reshard, reshard.substr(0, type) + sum + reshard.substr(type)).find("no single move leads from"),
            std::string::npos);
  EXPECT_NE(refused("image: f32[24{data}", "image: f32[24").find("[resharded graph] the parts do not fit together"),
            std::string::npos);
  EXPECT_NE(refused(" cut i={data}", " cut i={data} k={data}")
                .find("[resharded graph] illegal cut of matmul: axis data cuts"),
            std::string::npos);
  EXPECT_NE(refused("= reshard(", "= all_reduce(").find("all_reduce"), std::string::npos);
}

}  // namespace
}  // namespace partita
