#pragma once
// Plan files: plans as a text that people read and edit, and that a training runs:
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
// Lines may be in any order. Empty lines and lines that begin with '#' are ignored.

#include "compiler/compile.h"
#include "compiler/plan/stages.h"
#include "job/config.h"
#include "planner/pricing/price.h"

namespace partita {

/// The predictions made along with a plan. A training ignores them.
struct PredictedStep {
  double step_seconds = 0;
  std::vector<double> memory_bytes{};  // bytes of a rank, per group of stages
  bool operator==(const PredictedStep&) const = default;
};

struct PlanFile {
  std::string path{};   // file name in messages
  std::string model{};  // "" for a network of the calling program
  int64_t batch = 1;    // rows of the global batch
  DType dtype = DType::f32;
  std::string cluster{};
  int64_t ranks = 1;
  std::optional<NetworkFingerprint> network{};                 // none: only the cuts must match the network
  Configuration configuration{};                               // completed
  Parallel parallel = Parallel::data;                          // how the cuts that the file leaves open are decided
  std::vector<std::vector<std::string>> stages{};              // layers of each stage; empty: balanced automatically
  std::map<Recompute, std::vector<std::string>> recomputed{};  // layers, if the configuration counts them
  std::optional<NamedCuts> cuts{};                             // none: those of the configuration
  std::optional<PredictedStep> predicted{};
  int network_line = 0, dtype_line = 0;  // line numbers for messages; 0: no such line
};

/// The text of a plan file. Parsing it and printing the result gives the same text.
std::string print(const PlanFile& plan);
/// Parses the text of a plan file; `path` is its name in messages. Throws InvalidArgument "[PATH:LINE] .." if the text
/// is malformed, inconsistent or truncated.
PlanFile parse_plan_file(std::string_view text, const std::string& path);
/// Reads and parses a plan file. Throws MissingFile if it cannot be read, and as `parse_plan_file` does.
PlanFile read_plan_file(const std::string& path);

/// Returns `config` with everything that the plan decides: batch, ranks, stages, micro-batches, cuts and the rest of
/// [plan].
JobConfig with_plan(JobConfig config, const PlanFile& plan);
/// A warning if the plan predicts steps in another type than the training computes in (f32 or f64); else "".
std::string dtype_warning(const PlanFile& plan, DType trained);
/// Whether a plan decides the value of this key of a job configuration, such as "training.batch".
bool is_planned(std::string_view key);

/// A training for which a plan file is written.
struct PlannedTraining {
  const JobConfig& config;  // completed
  const Configuration& configuration;
  const Graph& training;  // with the stage annotations
  const OpSet& ops;
};
/// The plan file of a planned training, which names nodes and layers. Its network, cluster and predictions stay empty.
/// Throws InvalidArgument as `make_mesh`, `make_plan` and `assign_stages` do.
PlanFile plan_file_of(const PlannedTraining& planned);
/// The plan file of a compiled program under a completed job configuration. Its network, cluster and predictions stay
/// empty. None if a plan file cannot express the program: groups of stages with different numbers of ranks, a batch
/// that does not divide, or layers that were named one by one to be recomputed.
std::optional<PlanFile> plan_file_of(const JobConfig& config, const Program& program, const OpSet& ops);

}  // namespace partita
