// Optimizer sharding changes where states lie and which collectives run, and no number.

#include <gtest/gtest.h>

#include <map>

#include "compiler/partition/collectives.h"
#include "compiler/partition/sections.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

const char* const kShardedGpt = "gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2";  // tied, clipped, AdamW
const char* const kShardedMoe =
    "moe:layers=1,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2";
const char* const kShardedLlama = "llama:layers=1,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12,tied=1";

Job sharded_job(const std::string& spec, const Shape& image, int64_t batch) {
  return model_job(spec, {.image = image, .batch = batch, .steps = 4});
}

TEST(OptimizerSharding, KeepsTheNumbers) {
  for (Job job :
       {sharded_job("mlp:hidden=12,dropout=0.2", {1, 6, 5}, 24), sharded_job("lenet:dropout=0.2", {1, 28, 28}, 24),
        sharded_job(kShardedGpt, {}, 24), sharded_job(kShardedMoe, {}, 24), sharded_job(kShardedLlama, {}, 24)}) {
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {2, 3, 4, 6, 8}) {
      if (!can_run(ranks)) continue;
      for (const int64_t level : {1, 2, 3}) {
        for (const int64_t count : {1, 3}) {
          job.ranks = ranks;
          job.micro_batches = count;
          job.zero = {.level = level, .threshold = 0};
          const auto what =
              fmt::format("{}, {} ranks, level {}, {} micro-batches", job.forward.name, ranks, level, count);
          expect_same_training(run_job(job), oracle, 1e-9, what);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(OptimizerSharding, OfGroupsAndFastKernels) {
  if (!can_run(4)) return;
  Job job = sharded_job(kShardedGpt, {}, 24);
  const JobResult oracle = interpret_job(job);
  job.ranks = 4;
  job.kernels = KernelSet::fast;
  for (const int64_t group : {1, 2, 4}) {
    job.zero = {.level = 2, .group = group, .threshold = 0};
    expect_same_training(run_job(job), oracle, 1e-9, fmt::format("groups of {}", group));
  }
}

Program sharded_program(const std::string& spec, int ranks, const OptimizerSharding& zero, int64_t micro_batches = 1) {
  const Job job = sharded_job(spec, {1, 28, 28}, 24);
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  return compile(job.forward, all_ops(), device->catalog(),
                 {.ranks = ranks,
                  .mesh = Mesh({{"data", ranks}}),
                  .plan = {.micro_batches = micro_batches, .zero = zero},
                  .training = job.training});
}

/// Elements that the collectives of each kind bring together in a step.
std::map<std::string, int64_t> elements_of(const Program& program) {
  std::map<std::string, int64_t> elements;
  for (const Node& node : program.local().graph.nodes) {
    elements[node.op] += program.local().graph.type(node.outputs[0]).elements();
  }
  return elements;
}

int64_t parameter_elements(const Graph& graph) {
  int64_t elements = 0;
  for (const State& state : graph.states) {
    if (state.kind == StateKind::parameter) elements += graph.type(state.entry).elements();
  }
  return elements;
}

// Each gradient is reduced and scattered once, each new parameter gathered once: what an all-reduce would move.
TEST(OptimizerSharding, MovesWhatAnAllReduceMoves) {
  for (const char* spec : {"mlp:hidden=16", "lenet", kShardedGpt, kShardedMoe, kShardedLlama}) {
    for (const int64_t count : {1, 2}) {
      const Program program = sharded_program(spec, 2, {.level = 1, .threshold = 0}, count);
      const int64_t parameters = parameter_elements(program.graph);
      std::map<std::string, int64_t> elements = elements_of(program);
      EXPECT_EQ(elements["reduce_scatter"], parameters) << spec;
      EXPECT_EQ(elements["all_gather"], parameters) << spec;
      const bool has_two_losses = program.local().graph.name == "moe";
      EXPECT_LE(elements["all_reduce"], has_two_losses ? 3 : 2) << spec;  // losses, and the norm of the gradients
    }
  }
}

TEST(OptimizerSharding, DividesTheStatesOfTheOptimizer) {
  for (const int ranks : {2, 4}) {
    const auto bytes = [&](int64_t level) {
      const Program program = sharded_program("mlp:hidden=64", ranks, {.level = level, .threshold = 0});
      int64_t states = 0;
      for (const State& state : program.local().graph.states) {
        if (state.kind == StateKind::optimizer) states += program.local().largest(state.entry).bytes();
      }
      return states;
    };
    EXPECT_NEAR(static_cast<double>(bytes(1)), static_cast<double>(bytes(0)) / ranks, 0.02 * bytes(0)) << ranks;
  }
}

// The forward pass gathers every parameter, the backward pass those that it uses again: at most 3 P with the reduction.
TEST(OptimizerSharding, OfParametersGathersThemTwice) {
  for (const int64_t count : {1, 2}) {
    const Program program = sharded_program(kShardedGpt, 2, {.level = 3, .threshold = 0}, count);
    const int64_t parameters = parameter_elements(program.graph);
    std::map<std::string, int64_t> elements = elements_of(program);
    EXPECT_EQ(elements["reduce_scatter"], parameters);
    EXPECT_GT(elements["all_gather"], parameters);
    EXPECT_LE(elements["all_gather"], 2 * parameters);
    for (const State& state : program.local().graph.states) {
      if (state.kind == StateKind::counter) continue;
      EXPECT_FALSE(program.local().shardings[state.entry].replicated())
          << program.local().graph.values[state.entry].name;
    }
    const std::string plan = print(program.plan(), program.graph, all_ops());
    EXPECT_EQ(print(parse_plan(plan, program.graph, all_ops()), program.graph, all_ops()), plan);
    EXPECT_NE(plan.find("\nregather %"), std::string::npos);
  }
}

// A parameter lies there as a whole only while it is used.
TEST(OptimizerSharding, OfParametersTakesLessMemory) {
  const auto arena = [](int64_t level, int64_t count) {
    return sharded_program("mlp:layers=8,hidden=256", 4, {.level = level, .threshold = 0}, count)
        .schedule()
        .arena_bytes;
  };
  for (const int64_t count : {1, 2}) {
    EXPECT_LT(arena(1, count), arena(0, count)) << count;
    EXPECT_LT(arena(3, count), arena(1, count) * 3 / 4) << count;
  }
}

// A cast of the whole parameter does not keep it for all micro-batches.
TEST(OptimizerSharding, RoundedParametersAreGatheredInEachMicroBatch) {
  for (const char* spec : {"mlp:layers=8,hidden=256", "gpt:layers=4,hidden=64,heads=4,seq=16,vocab=32"}) {
    for (const int stages : {1, 2}) {
      std::map<int64_t, int64_t> arena;  // by level
      for (const int64_t level : {1, 3}) {
        Job job = model_job(spec, {.dtype = DType::f32, .batch = 16});
        job.training.precision = {.precision = MixedPrecision::bf16};
        job.kernels = KernelSet::reference;  // kernels of 16 bits, which some processors have, leave out casts
        job.ranks = 2 * stages;
        job.micro_batches = 4;
        job.zero = {.level = level, .threshold = 0};
        job.pipeline.stages = stages;
        const Program program = compile_job(job);
        int64_t gathered = 0;
        for (const StageProgram& stage : program.stages) {
          const std::vector<Section> sections = sections_of(stage.local);
          for (size_t n = 0; n < sections.size(); ++n) {
            const Node& node = stage.local.graph.nodes[n];
            if (!is_regather(node)) continue;
            EXPECT_NE(sections[n], Section::once) << spec << ", " << stages << " stages: " << node.name;
            ++gathered;
          }
          arena[level] = std::max(arena[level], stage.schedule.arena_bytes);
        }
        EXPECT_EQ(gathered > 8, level == 3) << gathered;
      }
      if (stages == 1) EXPECT_LT(arena[3], arena[1] * 3 / 4) << spec;
    }
  }
}

// States of the optimizer, then sums of gradients over micro-batches, then parameters are divided by the ranks: what a
// rank keeps between steps, and its arena, are within 2 % of that.
TEST(OptimizerSharding, DividesWhatItSays) {
  const int ranks = 4;
  Job job = model_job("gpt:layers=6,hidden=96,heads=4,seq=32", {.dtype = DType::f32, .batch = 16});
  job.training.output_gradients = false;
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::fast);
  device->enter_thread();
  double parameters = 0;  // bytes
  const auto program_at = [&](int64_t level) {
    Program program = compile(job.forward, all_ops(), device->catalog(),
                              {.ranks = ranks,
                               .plan = {.micro_batches = 4, .zero = {.level = level, .threshold = 0}},
                               .training = job.training});
    parameters = static_cast<double>(parameter_elements(program.graph)) * sizeof(float);
    return program;
  };
  const auto kept = [](const Program& program) {
    double bytes = static_cast<double>(program.schedule().state_bytes);
    for (const int input : program.schedule().inputs) {
      bytes -= static_cast<double>(program.schedule().buffers[input].bytes_of_all());
    }
    return bytes;
  };
  const Program zero = program_at(0), one = program_at(1), two = program_at(2), three = program_at(3);
  const double part = parameters / ranks, divided = parameters - part;
  EXPECT_NEAR(kept(zero), 3 * parameters, 0.02 * kept(zero));
  EXPECT_NEAR(kept(one), parameters + 2 * part, 0.02 * kept(one));
  EXPECT_NEAR(kept(two), parameters + 2 * part, 0.02 * kept(two));
  EXPECT_NEAR(kept(three), 3 * part, 0.02 * kept(three));
  const auto arena = [](const Program& program) { return static_cast<double>(program.schedule().arena_bytes); };
  EXPECT_LE(arena(one), 1.02 * (arena(zero) - 2 * divided));
  EXPECT_NEAR(arena(two), arena(one) - divided, 0.02 * arena(two));
  // Of what is gathered at most two of six layers are there at once.
  EXPECT_GE(arena(three), 0.98 * (arena(two) - divided));
  EXPECT_LE(arena(three), 1.02 * (arena(two) - divided + 2 * parameters / 6));
}

// Gathers and scatters overlap with the computation: a parameter is gathered while the layer before it computes, a
// gradient scattered while the backward pass continues, a new parameter gathered during the update of others.
TEST(OptimizerSharding, OverlapsCommunicationWithComputation) {
  for (const auto& [level, micro_batches] : {std::pair{1, 1}, {1, 3}, {3, 1}, {3, 3}}) {
    const Program program =
        sharded_program("mlp:layers=6,hidden=32", 2, {.level = level, .threshold = 0}, micro_batches);
    const Schedule& schedule = program.schedule();
    std::map<NodeId, size_t> open;  // started, and how many computations since then
    int overlapped = 0, prefetched = 0;
    for (const Instruction& instruction : schedule.instructions) {
      if (instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate) {
        for (auto& [node, computed] : open) ++computed;
      }
      if (!instruction.is_single_message()) continue;
      const Node& node = program.local().graph.nodes[instruction.node];
      if (instruction.kind == Instruction::start) {
        open.emplace(instruction.node, 0);
        continue;
      }
      const bool last = instruction.node >= 0 && open.at(instruction.node) == 0;  // a sum over micro-batches
      overlapped += !last;
      prefetched += node.attrs.as<CollectiveAttrs>().reason == "regather" && !last;
      open.erase(instruction.node);
    }
    const std::string what = fmt::format("level {}, {} micro-batches", level, micro_batches);
    EXPECT_TRUE(open.empty()) << what;
    EXPECT_GE(overlapped, micro_batches == 1 ? 10 : 5) << what;
    EXPECT_GE(prefetched, level == 3 ? 8 : 0) << what;
    const std::string text = print(schedule, program.local());
    EXPECT_NE(text.find(" = start "), std::string::npos) << what;
    EXPECT_EQ(print(parse_schedule(text, program.local()), program.local()), text) << what;
  }
}

TEST(OptimizerSharding, SchedulesThatReadWhatIsInFlightAreRefused) {
  const Program program = sharded_program("mlp:layers=4,hidden=32", 2, {.level = 3, .threshold = 0});
  const std::string text = print(program.schedule(), program.local());
  const auto refusal = [&](const std::string& changed) -> std::string {
    try {
      parse_schedule(changed, program.local());
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  const size_t wait = text.find("\nwait "), end = text.find('\n', wait + 1);
  const std::string line = text.substr(wait, end - wait), without = text.substr(0, wait) + text.substr(end);
  EXPECT_NE(refusal(without).find("which is in flight"), std::string::npos) << refusal(without);
  EXPECT_NE(refusal(text.substr(0, end) + line + text.substr(end)).find("is waited for and was not started"),
            std::string::npos);
  std::string other = text;
  other.replace(wait, 6, "\nwait x");
  EXPECT_NE(refusal(other).find("unknown node"), std::string::npos) << refusal(other);
}

TEST(OptimizerSharding, LeavesSmallParametersWhole) {
  const auto cut_states = [](int64_t threshold) {
    const Program program = sharded_program("mlp:hidden=64", 2, {.level = 1, .threshold = threshold});
    int count = 0;
    for (const State& state : program.local().graph.states) {
      count += !program.local().shardings[state.entry].replicated();
    }
    return count;
  };
  EXPECT_EQ(cut_states(0), 6);
  EXPECT_EQ(cut_states(1 << 10), 3);  // the weights
  EXPECT_EQ(cut_states(1 << 30), 0);
}

TEST(OptimizerSharding, RefusesGroupsThatNoAxesMake) {
  try {
    sharded_program("mlp:hidden=16", 8, {.level = 1, .group = 3});
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(
        error.what(),
        "[zero] the axes of the batch cannot form a group of this size, got 3 ranks, expected one of 1, 2, 4, 8");
  }
}

}  // namespace
}  // namespace partita
