#include "planner/pricing/precision.h"

#include <gtest/gtest.h>

#include "planner/cluster/presets.h"

namespace partita {
namespace {

TEST(Precision, CountsTheCastsOfDevicesWithout16BitProducts) {
  const DeviceSpec h100 = cluster_named("h100").device, cpu = cluster_named("cpu").device;
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

TEST(Precision, SendsGradientsInTheTypeOfReductions) {
  const DeviceSpec cpu = cluster_named("cpu").device;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    EXPECT_EQ(Precision::on(cpu, dtype, ReduceDType::f32).sent_gradient, 4);
    EXPECT_EQ(Precision::on(cpu, dtype, ReduceDType::bf16).sent_gradient, 2);
    EXPECT_EQ(Precision::on(cpu, dtype, ReduceDType::bf16).gradient, 4);
  }
  EXPECT_EQ(Precision::on(cpu, DType::f64, ReduceDType::bf16).sent_gradient, 8);
}

}  // namespace
}  // namespace partita
