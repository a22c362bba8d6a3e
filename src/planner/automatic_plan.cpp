#include "planner/automatic_plan.h"

#include <algorithm>

#include "planner/planner.h"
#include "runtime/launch/place.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr std::string_view kAuto = "auto", kAutoOn = "auto:";

/// Returns the type of activations and products.
DType priced_dtype(const TrainingConfig& training) {
  if (training.dtype != DType::f32) return training.dtype;
  switch (training.precision) {
    case MixedPrecision::f32: return DType::f32;
    case MixedPrecision::bf16: return DType::bf16;
    case MixedPrecision::f16: return DType::f16;
  }
  return training.dtype;
}

}  // namespace

bool is_automatic_plan(std::string_view file) { return file == kAuto || file.starts_with(kAutoOn); }

PlanFile automatic_plan(const std::string& file, const JobConfig& config, int launched, const std::string& where) {
  if (config.model.empty()) {
    throw InvalidArgument(
        "[{}] only models of the zoo can be searched by name, got {} without a model, expected model = \"...\" or the "
        "file of a plan",
        where, file);
  }
  // The rows decide sizes of the network, and the optimizer its memory: the job is searched as it will be trained.
  JobConfig alone = config;
  alone.plan = {};
  alone.training.dtype = DType::f32;  // plans are of networks in f32; the request says how its values are priced
  alone.training.precision = MixedPrecision::f32;
  alone.training.precision_of.clear();
  alone.training.residual = Residual::half;
  alone.training.reduce_dtype = ReduceDType::f32;
  alone.ranks = {.kernels = config.ranks.kernels};
  const ZooJob trained(alone, Place{});
  const PlannedJob job = plan({.model = config.model,
                               .network = TrainedNetwork{trained.network(), trained.config(), trained.columns()},
                               .cluster = file == kAuto ? "cpu" : file.substr(kAutoOn.size()),
                               .ranks = config.ranks.count > 0 ? config.ranks.count : std::max(1, launched),
                               .batch = config.training.batch,
                               .dtype = priced_dtype(config.training),
                               .reduce_dtype = config.training.reduce_dtype,
                               .idle = false,
                               .where = where});
  require_fit(job);
  PlanFile made = plan_file_of(job);
  made.path = file;
  made.cuts->file = file;
  return made;
}

}  // namespace partita
