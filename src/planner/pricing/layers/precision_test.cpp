#include "planner/pricing/layers/precision.h"

#include <gtest/gtest.h>

#include "planner/cluster/presets.h"

namespace partita {
namespace {

TEST(Precision, CountsTheCastsOfDevicesWithout16BitProducts) {
  const Cluster h100 = cluster_named("h100"), cpu = cluster_named("cpu");
  for (const DType half : {DType::bf16, DType::f16}) {
    EXPECT_EQ(Precision::on(h100, half, ReduceDType::f32).moved, 2);
    // f32 that the kernel moves, and the two types of a cast.
    EXPECT_EQ(Precision::on(cpu, half, ReduceDType::f32).moved, 4 + 4 + 2);
    EXPECT_EQ(Precision::on(cpu, half, ReduceDType::f32).folded, 2) << "fold_casts leaves these casts out";
  }
  EXPECT_EQ(Precision::on(cpu, DType::f32, ReduceDType::f32).moved, 4);
  EXPECT_EQ(Precision::on(cpu, DType::f64, ReduceDType::f32).moved, 8);
  EXPECT_EQ(Precision::on(cpu, DType::f64, ReduceDType::f32).folded, 8);
  for (const WorkKind kind : {WorkKind::pointwise, WorkKind::normalisation, WorkKind::reduction})
    EXPECT_TRUE(folds_casts(kind));
  for (const WorkKind kind : {WorkKind::product, WorkKind::convolution, WorkKind::attention, WorkKind::lookup})
    EXPECT_FALSE(folds_casts(kind));
}

// Megatron shares masters with the states of the optimizer; here masters are the parameters.
TEST(Precision, MastersAreTheParametersOfThisLibrary) {
  const Precision own = Precision::on(cluster_named("h100@partita"), DType::bf16, ReduceDType::f32),
                  other = Precision::on(cluster_named("h100"), DType::bf16, ReduceDType::f32),
                  single = Precision::on(cluster_named("h100@partita"), DType::f32, ReduceDType::f32);
  EXPECT_EQ(own.parameter(), 2 + 4);
  EXPECT_EQ(own.shared_master(), 0);
  EXPECT_EQ(other.parameter(), 2);
  EXPECT_EQ(other.shared_master(), 4);
  EXPECT_EQ(single.parameter(), 4);
}

TEST(Precision, SendsGradientsInTheTypeOfReductions) {
  const Cluster cpu = cluster_named("cpu");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    EXPECT_EQ(Precision::on(cpu, dtype, ReduceDType::f32).sent_gradient, 4);
    EXPECT_EQ(Precision::on(cpu, dtype, ReduceDType::bf16).sent_gradient, 2);
    EXPECT_EQ(Precision::on(cpu, dtype, ReduceDType::bf16).gradient, 4);
  }
  EXPECT_EQ(Precision::on(cpu, DType::f64, ReduceDType::bf16).sent_gradient, 8);
}

}  // namespace
}  // namespace partita
