// Completion of open configuration fields, and checks that the fields fit together.

#include <algorithm>

#include "compiler/plan/cut_blocks.h"
#include "compiler/plan/cut_micro_batches.h"
#include "job/config.h"
#include "job/loss_scaling.h"
#include "job/options.h"
#include "runtime/comm/inproc/collectives.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/launch/place.h"
#include "runtime/launch/refusal.h"

namespace partita {
namespace {

/// Maximum number of compute threads of a rank: eight times the cores, but at least 64.
int max_threads(int cores) { return std::max(64, 8 * cores); }

/// Returns an even share of the cores for each of the ranks of this host, or of this process if they are its threads:
/// at least 1, at most the cores that this process may use, and the threads that OpenMP allows.
int default_threads(int ranks, const Place& place) {
  const int share = place.shared_cores() / (place.ranks() > 1 ? place.ranks_here() : ranks);
  return std::max(1, std::min({share, place.process_cores(), place.team_threads}));
}

void complete_ranks(RanksConfig& ranks, const Place& place) {
  const bool is_process = place.ranks() > 1;
  if (is_process && ranks.count > 1 && ranks.count != place.ranks()) {
    throw InvalidArgument("[--ranks] {} started another number of ranks, got {}, expected {} or no --ranks",
                          place.launched->launcher, ranks.count, place.ranks());
  }
  if (is_process) {
    ranks.count = place.ranks();
  } else if (ranks.count == 0) {
    ranks.count = 1;
  }
  if (ranks.threads > max_threads(place.cores)) {
    throw InvalidArgument(
        "[--threads] out of range, got {}, expected 0 to {}: eight times the cores, and no fewer than 64",
        ranks.threads, max_threads(place.cores));
  }
  if (ranks.device != "cpu") {
    require_accelerator(ranks.device);
  } else if (ranks.collectives == CollectiveChoice::whole) {
    throw InvalidArgument(
        "[--collectives] programs with collectives run on accelerators, got whole on cpu, expected cut, "
        "or --device xla:cpu, cuda, rocm, oneapi or tpu");
  }
  if (ranks.attention == AttentionChoice::fused && device_kind(ranks.device) != "cuda") {
    throw InvalidArgument(
        "[--attention] fused attention is that of cuDNN, got fused on {}, expected composed, or a GPU of NVIDIA "
        "(--device cuda, or --target of compile)",
        ranks.device);
  }
  if (ranks.deterministic && ranks.collectives == CollectiveChoice::whole) {
    throw InvalidArgument(
        "[--deterministic] in programs the plugin chooses the order of sums over ranks, got --collectives whole, "
        "expected cut, or no --deterministic");
  }
  if (ranks.deterministic && device_kind(ranks.device) == "oneapi") {
    throw InvalidArgument(
        "[--deterministic] the plugin has no flag for it, got {}, expected cpu, xla:cpu, cuda, rocm or tpu, or no "
        "--deterministic",
        ranks.device);
  }
  const std::string_view kind = device_kind(ranks.device);
  if (ranks.device_memory != kDeviceMemory && kind != "cuda" && kind != "rocm") {
    throw InvalidArgument("[--device-memory] has no effect, got {} on {}, expected cuda or rocm, or no --device-memory",
                          ranks.device_memory, ranks.device);
  }
  if (ranks.threads == 0) ranks.threads = default_threads(ranks.count, place);
}

/// Returns the largest number of ranks of a stage. Ranks that do not divide are rounded up; they are refused when
/// groups of stages are made.
int64_t ranks_of_stage(const JobConfig& config) {
  const PipelineOptions& pipeline = config.plan.options.pipeline;
  int64_t stages = pipeline.stages;
  for (const StageAnnotation& annotation : pipeline.stage_annotations) {
    if (pipeline.stages == 0) stages = std::max<int64_t>(stages, annotation.stage + 1);
  }
  const int64_t groups = std::max<int64_t>(1, stages / std::max<int64_t>(1, pipeline.interleave));
  return (config.ranks.count + groups - 1) / groups;
}

void require_equal_parts(const JobConfig& config) {
  const int64_t batch = config.training.batch, micro_batches = config.plan.options.micro_batches;
  require_whole_micro_batches(batch, micro_batches);
  const int64_t ranks = ranks_of_stage(config);
  const int64_t parts = ranks * micro_batches;
  if (config.plan.options.parallel != Parallel::data || batch % parts == 0) return;
  const int64_t below = batch / parts * parts;
  const std::string nearest = below > 0 ? fmt::format("{} or {}", below, below + parts) : fmt::format("{}", parts);
  const bool may_be_uneven = config.plan.options.uneven == Uneven::allow && (below > 0 || micro_batches == 1);
  throw InvalidArgument(
      "[train] the global batch does not divide, got batch {} on {} ranks{}, expected a multiple of {}: {}{}", batch,
      ranks, micro_batches == 1 ? "" : fmt::format(" in {} micro-batches", micro_batches), parts, nearest,
      may_be_uneven ? ", or --parallel hybrid" : "");
}

}  // namespace

int64_t training_steps(int64_t epochs, int64_t steps, int64_t steps_per_epoch) {
  if (steps == 0) return std::max<int64_t>(1, epochs) * steps_per_epoch;
  return epochs == 0 ? steps : std::min(steps, epochs * steps_per_epoch);
}

bool cuts_batch_alone(const JobConfig& config) {
  return config.ranks.count > 1 &&
         (config.plan.options.parallel == Parallel::data || config.plan.options.parallel == Parallel::hybrid);
}

namespace {

JobConfig complete(JobConfig config, const Place& place) {
  require_legal(config);
  if (!config.plan.file.empty() && !config.plan.given) {
    throw InvalidArgument("[--plan] the plan file was not read, got {}, expected with_plan(config, read_plan_file(..))",
                          config.plan.file);
  }
  if (config.plan.given && place.ranks() > 1 && place.ranks() != config.ranks.count) {
    throw InvalidArgument("[--plan] {} is for another number of ranks, got {} started by {}, expected {}",
                          config.plan.file, place.ranks(), place.launched->launcher, config.ranks.count);
  }
  complete_ranks(config.ranks, place);
  block_mesh(ranks_of_stage(config), config.plan.options.blocks);  // throws if the cuts do not divide the ranks
  TrainingConfig& training = config.training;
  if (!training.batch_norm) {
    const bool is_cut = cuts_batch_alone(config) || config.plan.options.micro_batches > 1;
    training.batch_norm = is_cut ? BatchNormStatistics::local : BatchNormStatistics::global;
  }
  verify(config.schedule, training.dtype);
  verify_loss_scaling(training);
  if (config.console.quiet && config.console.verbose) {
    throw InvalidArgument("[--quiet] excludes --verbose, got both, expected one of them");
  }
  return config;
}

void verify_whole(const JobConfig& config, const Place& place) {
  if (place.ranks() == 1 && config.ranks.count > kMaxThreadRanks) {
    throw InvalidArgument("[--ranks] too many for one process, got {}, expected 1 to {}, or processes under mpirun",
                          config.ranks.count, kMaxThreadRanks);
  }
  require_equal_parts(config);
  const auto refuse = [](std::string_view flag, const std::string& why) {
    throw InvalidArgument("[{}] has no effect, {}", flag, why);
  };
  if (config.ranks.count > 1 && !cuts_batch_alone(config)) {
    const std::string why =
        fmt::format("got --parallel {}, expected --parallel data", name_of(config.plan.options.parallel));
    if (config.training.gradients == GradientReduction::sum) refuse("--gradients sum", why);
    if (config.training.batch_norm == BatchNormStatistics::local && config.plan.options.micro_batches == 1) {
      refuse("--batch-norm local", why);
    }
  }
  const PipelineOptions& pipeline = config.plan.options.pipeline;
  if (pipeline.stages == 1 && !pipeline.stage_annotations.empty()) {
    refuse("--stage",
           fmt::format("got {} with --stages 1, expected --stages {} or none",
                       print(pipeline.stage_annotations.front()), pipeline.stage_annotations.front().stage + 1));
  }
  if (config.training.gradients == GradientReduction::sum && config.ranks.count > 1 && ranks_of_stage(config) == 1) {
    refuse("--gradients sum", "got one rank for each stage, expected stages of 2 ranks or more");
  }
  if (config.training.micro_loss == MicroLoss::sum && config.plan.options.micro_batches == 1) {
    refuse("--micro-loss sum", "got --micro-batches 1, expected 2 micro-batches or more, or --micro-loss mean");
  }
  if (config.files.checkpoint_every > 0 && config.files.checkpoint.empty()) {
    refuse("--checkpoint-every", "got no --checkpoint, expected --checkpoint DIR");
  }
  if (!config.files.resume.empty() && !config.files.load.empty() && !config.files.load_is_recipe) {
    refuse("--load", "got --resume, which loads all weights, expected only one of the two");
  }
}

}  // namespace

JobConfig completed(JobConfig config, const Place& place) {
  return telling_number(place, [&](const Place& where) { return complete(config, where); });
}

void verify_training(const JobConfig& config, const Place& place) {
  telling_number(place, [&](const Place& where) {
    JobConfig there = config;
    if (where.ranks() != place.ranks()) there.ranks.count = where.ranks();
    verify_whole(there, where);
  });
}

}  // namespace partita
