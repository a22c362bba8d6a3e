// The statistics of norms that are cut, over ranks and micro-batches: as exact as those of one rank however far the
// mean of the values is from 0.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/philox.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

struct MomentsCase {
  bool rows = false;  // layer_norm, cut along its rows; else batch_norm, cut over the batch
  DType dtype = DType::f64;
  Shape shape;  // shape of x
  double mean = 0, deviation = 1;
  bool outlier = false;    // the first value of each channel or row is 0
  bool of_inputs = false;  // x is an input and no more, without `shift`
  int ranks = 1;
  int64_t micro_batches = 1;
  KernelSet kernels = KernelSet::reference;
  uint64_t seed = 1;
};

int64_t groups_of(const MomentsCase& one) { return one.rows ? 1 : one.micro_batches; }

std::string described(const MomentsCase& one) {
  return fmt::format("{} of {}[{}], mean {}, deviation {}{}, {} ranks, {} micro-batches, {} kernels, seed {}",
                     one.rows ? "layer_norm" : "batch_norm", name_of(one.dtype), fmt::join(one.shape, ","), one.mean,
                     one.deviation, one.outlier ? " and an outlier" : "", one.ranks, one.micro_batches,
                     one.kernels == KernelSet::fast ? "fast" : "reference", one.seed);
}

/// Which statistic a value of x counts for.
int64_t group_of(const MomentsCase& one, int64_t element) {
  const Shape& shape = one.shape;
  if (one.rows) return element / shape.back();
  const int64_t row = element / (elements(shape) / shape[0]), rows = shape[0] / groups_of(one);
  const int64_t plane = elements(shape) / shape[0] / shape[1];
  return row / rows * shape[1] + element / plane % shape[1];
}

/// Rounded to the type of the case.
Array values_of(const MomentsCase& one) {
  Array x({one.dtype, one.shape});
  std::set<int64_t> seen;
  for (int64_t i = 0; i < x.type().elements(); ++i) {
    const int64_t group = group_of(one, i);
    const double sign = group % 2 == 0 ? 1 : -1;
    const bool first = seen.insert(group).second;
    x.set(i, one.outlier && first ? 0 : sign * one.mean + one.deviation * random_normal(one.seed, i, 0));
  }
  return x;
}

/// 1e-9, or 8 units in the last place of the largest mean in standard deviations, if that is more.
double bound_of(const MomentsCase& one, const Array& x, double epsilon) {
  std::map<int64_t, std::vector<double>> groups;
  for (int64_t i = 0; i < x.type().elements(); ++i) groups[group_of(one, i)].push_back(x.at(i));
  double bound = 1e-9;
  for (const auto& [group, values] : groups) {
    long double mean = 0, squares = 0;
    for (const double value : values) mean += value;
    mean /= static_cast<long double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    const auto variance = static_cast<double>(squares / static_cast<long double>(values.size()));
    const int digits = one.dtype == DType::f64 ? 53 : 24;
    const double unit = std::ldexp(1, std::ilogb(static_cast<double>(mean)) + 1 - digits);
    bound = std::max(bound, 8 * unit / std::sqrt(variance + epsilon));
  }
  return bound;
}

/// One step at rate 1 that leaves what is to be compared in the states: with a 1 for each row in `pick`, the gradient
/// of `probe` is the result of the norm, and that of `shift` the gradient of its operand.
Job moments_job(const MomentsCase& one, const Array& x, DType dtype) {
  const int64_t rows = one.shape[0], width = elements(one.shape) / rows;
  const LayerPtr norm = one.rows ? layer_norm() : batch_norm();
  const auto forward = [=](Context& context, Columns& columns) -> NamedValues {
    const Value picked = columns.at("pick");
    Value moved = columns.at("x");
    if (!one.of_inputs) {
      const Value shift = matmul(picked, context.parameter("shift", {rows, width}, constant_initializer(0)));
      moved = moved + reshape(shift, one.shape);
    }
    const Value probe = matmul(picked, context.parameter("probe", {rows, width}, normal_initializer(0, 1)));
    const Value y = context.call_network(*norm, moved);
    return {{"products", reshape(y, {rows, width}) * probe}};
  };
  const auto loss = [](Context&, Columns&, const NamedValues& made) -> NamedValues {
    return {{"loss", reduce_sum(find_output(made, "products"))}};
  };
  Job job;
  const Shape row(one.shape.begin() + 1, one.shape.end());
  job.forward = build_graph(Network("moments", forward, loss), all_ops(),
                            {.batch = rows,
                             .columns = {{"x", {dtype, row}}, {"pick", {dtype, {rows}}}},
                             .dtype = dtype,
                             .statistics_groups = groups_of(one)});
  job.training.optimizer = {.kind = OptimizerKind::sgd};
  job.states = initial_states(job.forward, one.seed);
  job.learning_rate = 1;
  job.micro_batches = one.micro_batches;
  job.ranks = one.ranks;
  job.kernels = one.kernels;
  Array pick({dtype, {rows, rows}});
  for (int64_t i = 0; i < rows; ++i) pick.set(i * rows + i, 1);
  job.batch = [batch = Arrays{{"x", cast(x, dtype)}, {"pick", pick}}](int) { return batch; };
  return job;
}

/// Cuts the rows of the layer norm over all ranks.
void cut_rows(Job& job) {
  const PlanOptions options{.parallel = Parallel::semi};
  annotate_nodes(job.forward, {parse_node_annotation(fmt::format("net/layer_norm=((1,{0}),({0}),({0}))", job.ranks))});
  job.mesh = make_mesh(job.forward, job.ranks, options);
  job.plan = [options, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, options); };
}

void expect_moments_of_one_rank(const MomentsCase& one) {
  SCOPED_TRACE(described(one));
  const Array x = values_of(one);
  Job job = moments_job(one, x, one.dtype), exact = moments_job(one, x, DType::f64);
  for (auto& [name, state] : exact.states) state = cast(job.states.at(name), DType::f64);
  const JobResult oracle = interpret_job(exact);
  if (one.rows && one.ranks > 1) cut_rows(job);
  const JobResult result = run_job(job);
  // Ranks share the rows of a group where they divide into those of the groups.
  if (one.ranks > 1 && (groups_of(one) == 1 || std::has_single_bit(static_cast<unsigned>(one.ranks)))) {
    const std::vector<Node>& nodes = result.program.local().graph.nodes;
    EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.op == "moments_finish"; }));
  }
  const double bound = bound_of(one, x, 1e-5);
  for (const auto& [name, state] : oracle.states) {
    double error = relative_error(cast(result.states.at(name), DType::f64), state), largest = 0;
    for (int64_t i = 0; i < state.type().elements(); ++i) largest = std::max(largest, std::abs(state.at(i)));
    // The running mean, a tenth of the means of the groups, is near 0 where these have opposite signs.
    if (name == "running_mean") error *= std::min(1.0, largest / (0.1 * one.mean));
    // A gradient of x is a difference of numbers that are several times as large.
    EXPECT_LE(error, name == "shift" ? 8 * bound : bound) << name;
  }
}

/// A random case, in which each statistic is over six values or more.
MomentsCase random_case(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  MomentsCase one;
  one.seed = seed;
  one.rows = below(2) == 0;
  one.ranks = static_cast<int>(1 + below(8));
  one.micro_batches = 1 + 3 * below(2);
  one.dtype = below(2) == 0 ? DType::f64 : DType::f32;
  one.kernels = below(2) == 0 ? KernelSet::fast : KernelSet::reference;
  one.mean = std::pow(10, uniform(2, 8));
  one.deviation = one.mean * std::pow(10, uniform(-6, -1));
  one.outlier = below(5) == 0;
  const int64_t parts = one.ranks * one.micro_batches;
  if (one.rows) {
    one.shape = {parts, 8 + below(20)};
  } else {
    one.shape = {(6 + one.ranks - 1) / one.ranks * parts, 1 + below(4)};
    if (below(2) == 0) one.shape.insert(one.shape.end(), {1 + below(3), 1 + below(3)});
  }
  return one;
}

TEST(Moments, OfCutNormsAreThoseOfOneRank) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const MomentsCase one = random_case(seed);
    if (can_run(one.ranks)) expect_moments_of_one_rank(one);
  }
}

// The second phase of a norm over all micro-batches needs the first of all of them, and a layer of one micro-batch
// both.
TEST(Moments, OfAllMicroBatchesAreRefused) {
  for (const bool of_inputs : {false, true}) {
    MomentsCase one;
    one.of_inputs = of_inputs;
    one.shape = {8, 3};
    Job job = moments_job(one, values_of(one), DType::f64);
    job.micro_batches = 4;
    try {
      compile_job(job);
      ADD_FAILURE() << "compiled";
    } catch (const InvalidArgument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("a node of one micro-batch needs a result of the whole batch"), std::string::npos);
      EXPECT_NE(message.find("it uses a result of net/batch_norm"), std::string::npos) << message;
    }
  }
}

TEST(Moments, OfLargeMeansAreThoseOfOneRank) {
  for (const bool rows : {false, true}) {
    for (const double mean : {1e2, 1e6, 1e8}) {
      for (int ranks = 1; ranks <= 8; ++ranks) {
        for (const int64_t micro_batches : {1, 4}) {
          if (!can_run(ranks)) continue;
          MomentsCase one;
          one.rows = rows;
          one.mean = mean;
          one.ranks = ranks;
          one.micro_batches = micro_batches;
          one.shape = {(rows ? 1 : 6) * ranks * micro_batches, 8};
          expect_moments_of_one_rank(one);
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
