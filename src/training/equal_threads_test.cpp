#include "training/equal_threads.h"

#include <gtest/gtest.h>

#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

bool needs(const std::string& spec, DType dtype, const PlanOptions& plan, KernelSet kernels = KernelSet::fast) {
  const ZooModel model = make_model(spec);
  const auto device = make_cpu_device(all_ops(), 1, kernels);
  const BuildOptions options{.batch = 12, .columns = model.columns(), .dtype = dtype};
  return needs_equal_threads(compile(build_graph(model.network(Loss::sparse), all_ops(), options), all_ops(),
                                     device->catalog(), {.ranks = 4, .plan = plan, .training = TrainingOptions{}}));
}

TEST(EqualThreads, WhereRanksRepeatWhatThreadsChange) {
  for (const char* spec : {"mlp:hidden=64", "lenet"}) {
    EXPECT_FALSE(needs(spec, DType::f32, {.parallel = Parallel::data})) << spec;
    EXPECT_TRUE(needs(spec, DType::f32, {.parallel = Parallel::none})) << spec;
    EXPECT_FALSE(needs(spec, DType::f32, {.parallel = Parallel::none}, KernelSet::reference)) << spec;
    EXPECT_FALSE(needs(spec, DType::f64, {.parallel = Parallel::none})) << spec;
  }
}

}  // namespace
}  // namespace partita
