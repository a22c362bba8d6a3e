#pragma once
// A plan as a text that people read and edit, and that a training runs:
//
//   partita training plan 1
//   model gpt:layers=4,hidden=64,heads=4
//   batch 32
//   dtype f32
//   cluster cpu
//   ranks 8
//   network 5d0c66bb8f47cc1f nodes=74 parameters=218112
//   configuration data=2,tensor=2,pipeline=2,micro_batch=4
//   parallel auto
//   stage 0 net/h/0..1 net/embedding net/add
//   stage 1 net/h/2..3 net/ln_f net/matmul loss
//   recompute full net/h/0..1
//   mesh data=2 tensor=2
//   input %tokens [32,256] {data} {}
//   node net/h/0..3/attn/q/matmul A={data} j={tensor}
//   predicted step_seconds 0.25
//   end
//
// Lines in any order; empty ones and those that begin with '#' are not read.

#include "compiler/compile.h"
#include "compiler/plan/stages.h"
#include "job/config.h"
#include "planner/pricing/price.h"

namespace partita {

/// What was said of a plan when it was made; a training does not look at it.
struct PredictedStep {
  double step_seconds = 0;
  std::vector<double> memory_bytes{};  // by group of stages
  bool operator==(const PredictedStep&) const = default;
};

struct PlanFile {
  std::string path{};   // in messages
  std::string model{};  // "" for a network of the program's own
  int64_t batch = 1;    // rows of the global batch
  DType dtype = DType::f32;
  std::string cluster{};
  int64_t ranks = 1;
  std::optional<NetworkFingerprint> network{};                 // none: the cuts alone have to fit
  Configuration configuration{};                               // completed
  Parallel parallel = Parallel::data;                          // what else there is to decide is decided so
  std::vector<std::vector<std::string>> stages{};              // the layers of each; none: as they balance
  std::map<Recompute, std::vector<std::string>> recomputed{};  // the layers, where the configuration counts them
  std::optional<NamedCuts> cuts{};                             // none: as the configuration says
  std::optional<PredictedStep> predicted{};
  int network_line = 0, dtype_line = 0;
};

/// Reading what was printed and printing it again gives the same text.
std::string print(const PlanFile& plan);
/// Throws InvalidArgument "[PATH:LINE] .." for everything that is not a plan, also one that ends too early.
PlanFile parse_plan_file(std::string_view text, const std::string& path);
/// The same of a file; throws MissingFile, too.
PlanFile read_plan_file(const std::string& path);

/// The configuration with what the plan decides: batch, ranks, stages, micro-batches, cuts and the rest of [plan].
JobConfig with_plan(JobConfig config, const PlanFile& plan);
/// Of a plan whose predictions are for another type than that of the training, which computes in f32 or f64; "" for the
/// same.
std::string dtype_warning(const PlanFile& plan, DType trained);
/// Whether a plan decides the value of a key of the configuration.
bool is_planned(std::string_view key);

/// What a training is to run.
struct PlannedTraining {
  const JobConfig& config;  // completed
  const Configuration& configuration;
  const Graph& training;  // with the marks of its stages
  const OpSet& ops;
};
/// By names; without the network, the cluster and what is predicted.
PlanFile plan_file_of(const PlannedTraining& planned);
/// Of a program of the training that a completed configuration says, without the network and what is predicted. None
/// where the lines of a plan cannot say it: groups of stages with different numbers of ranks, a batch that does not
/// divide, layers that were named one by one to be recomputed.
std::optional<PlanFile> plan_file_of(const JobConfig& config, const Program& program, const OpSet& ops);

}  // namespace partita
