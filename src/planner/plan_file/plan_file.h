#pragma once
// Plan files: plans as a text that people read and edit, and that a training runs:
//
//   partita training plan 1
//   model gpt:layers=4,hidden=64,heads=4
//   batch 32
//   dtype f32
//   cluster cpu
//   software partita
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
#include "planner/pricing/step/price.h"

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
  bool tf32 = true;                             // whether products of f32 were priced in TF32 where devices have it
  ReduceDType reduce_dtype = ReduceDType::f32;  // type of sums of gradients in the predictions
  std::string cluster{};
  std::string software{};  // software of the predictions; "": that of the cluster, as older files leave it
  int64_t ranks = 1;
  std::optional<NetworkFingerprint> network{};                 // none: only the cuts must match the network
  Configuration configuration{};                               // completed
  Parallel parallel = Parallel::data;                          // how the cuts that the file leaves open are decided
  std::vector<std::vector<std::string>> stages{};              // layers of each stage; empty: balanced automatically
  std::map<Recompute, std::vector<std::string>> recomputed{};  // layers, if the configuration counts them
  std::optional<NamedCuts> cuts{};                             // none: those of the configuration
  std::optional<PredictedStep> predicted{};
  int network_line = 0, dtype_line = 0, software_line = 0;  // line numbers for messages; 0: no such line
};

/// The text of a plan file. Parsing it and printing the result gives the same text.
std::string print(const PlanFile& plan);
/// Parses the text of a plan file; `path` is its name in messages. Throws InvalidArgument "[PATH:LINE] .." if the text
/// is malformed, inconsistent, truncated or larger than 64 MiB.
PlanFile parse_plan_file(std::string_view text, const std::string& path);
/// Reads and parses a plan file. Throws MissingFile if it is no regular file or cannot be read, InvalidFile if it
/// is larger than 64 MiB, and as `parse_plan_file` does.
PlanFile read_plan_file(const std::string& path);

/// Returns `config` with everything that the plan decides: batch, ranks, stages, micro-batches, recomputation,
/// optimizer sharding, the parallel mode, sharding of blocks, and cuts. If the plan has cuts, annotations, dataset
/// sharding and the search of `config` are dropped. The element type stays.
JobConfig with_plan(JobConfig config, const PlanFile& plan);
/// Returns a warning if the plan is for another type than that in which the training computes, so its
/// predictions do not hold; else "".
std::string dtype_warning(const PlanFile& plan, const TrainingConfig& training);
/// Returns a warning if the plan is priced for other software than this library, so its predictions of time and
/// memory do not hold, with the command that plans for the library; else "". The software of a file without such a line
/// is that of its cluster, if that is a preset.
std::string software_warning(const PlanFile& plan);
/// Whether a plan decides the value of this key of a job configuration: "training.batch", "ranks.count", and the keys
/// of [plan] that say how the training is divided and what is recomputed.
bool is_planned(std::string_view key);

/// A training for which a plan file is written.
struct PlannedTraining {
  const JobConfig& config;  // completed
  const Configuration& configuration;
  const Graph& training;  // with the stage annotations
  const OpSet& ops;
};
/// Makes the plan of a training and returns it as a file, which names nodes and layers. Its path, network, cluster and
/// predictions stay empty. Throws InvalidArgument if the options do not fit the graph or the ranks, or if the layers
/// cannot be divided into the stages, and what the `costs` of the options throw.
PlanFile plan_file_of(const PlannedTraining& planned);
/// Returns the plan file of a compiled program under a completed job configuration. Its path, network, cluster and
/// predictions stay empty. None if a plan file cannot express the program: groups of stages with different numbers of
/// ranks or, unless `config` was given a plan, a batch that does not divide, or layers that were named one by one to be
/// recomputed. Throws InvalidArgument if the configuration of a given plan is malformed.
std::optional<PlanFile> plan_file_of(const JobConfig& config, const Program& program, const OpSet& ops);

}  // namespace partita
