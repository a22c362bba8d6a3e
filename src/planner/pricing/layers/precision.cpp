#include "planner/pricing/layers/precision.h"

namespace partita {

Precision Precision::of(DType dtype) {
  const double bytes = static_cast<double>(size_of(dtype));
  if (bytes >= 4) {
    return {.compute = dtype,
            .activation = bytes,
            .weight = bytes,
            .gradient = bytes,
            .state = bytes,
            .sent_gradient = bytes,
            .moved = bytes,
            .folded = bytes};
  }
  return {.compute = dtype,
          .activation = bytes,
          .weight = bytes,
          .gradient = 4,
          .master = 4,
          .moved = bytes,
          .folded = bytes};
}

Precision Precision::on(const Cluster& cluster, DType dtype, ReduceDType reductions) {
  Precision precision = of(dtype);
  const DeviceSpec device = cluster.rank_device();
  precision.masters_with_optimizer = cluster.software.keeps_gradients;
  if (reductions == ReduceDType::bf16 && dtype != DType::f64) precision.sent_gradient = 2;
  const bool is_half = dtype == DType::bf16 || dtype == DType::f16;
  // A kernel reads and writes f32, and a cast reads one type and writes the other.
  if (is_half && !device.peak.contains(DType::bf16) && !device.peak.contains(DType::f16)) {
    precision.moved = 4 + (4 + precision.activation);
  }
  return precision;
}

bool folds_casts(WorkKind kind) {
  return kind == WorkKind::pointwise || kind == WorkKind::normalisation || kind == WorkKind::reduction;
}

}  // namespace partita
