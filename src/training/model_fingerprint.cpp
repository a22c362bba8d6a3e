#include "training/model_fingerprint.h"

#include "ir/ops/registry.h"
#include "ir/orders/text.h"
#include "job/options.h"
#include "runtime/device/xla/plugin_search.h"
#include "training/configuration.h"
#include "training/equal_threads.h"
#include "training/training_run.h"

namespace partita {

LaunchFingerprint fingerprint_of(const ModelJob& job, const Program& program, const DatasetPtr& rows,
                                 const States& states) {
  const auto digest_of_stages = [&](const std::function<std::string(const StageProgram&)>& print_one) {
    return print_digest(digest_of(print_stages(program.pipeline, program.stages, print_one)));
  };
  LaunchFingerprint fingerprint;
  const bool may_threads_differ = !needs_equal_threads(program);
  for (const JobOption& option : job_options()) {
    if (option.effect == Effect::console || (option.key() == "ranks.threads" && may_threads_differ)) continue;
    const std::string text = fmt::format("{}", fmt::join(option.get(job.config), ", "));
    // Each rank may name its own device of the same kind.
    fingerprint.emplace_back(option.key(), option.key() == "ranks.device" ? std::string(device_kind(text)) : text);
  }
  if (rows != nullptr) {
    fingerprint.emplace_back("rows", fmt::format("{}", rows->size()));
    fingerprint.emplace_back("first rows", print_digest(digest_of_rows(rows, job.config.training.batch)));
  }
  fingerprint.insert(
      fingerprint.end(),
      {{"graph", print_digest(digest_of(print(program.graph)))},
       {"plan", digest_of_stages([](const StageProgram& stage) { return print(stage.plan, stage.graph, all_ops()); })},
       {"local graph", digest_of_stages([](const StageProgram& stage) { return print(stage.local, all_ops()); })},
       {"order", print_digest(digest_of(print(program.pipeline.sequence, program.pipeline.shape)))},
       {"weights", print_digest(digest_of(states))},
       {"program file", print_digest(digest_of_executable())}});
  return fingerprint;
}

LaunchFingerprint fingerprint_of(const ModelJob& job, const TrainingRun& run, const FitOptions& fit,
                                 const States& states) {
  LaunchFingerprint fingerprint = fingerprint_of(job, run.program, run.rows, states);
  fingerprint.emplace_back("steps of the schedule", fmt::format("{}", run.schedule.steps));
  const std::optional<double>& rate = run.position.learning_rate;
  fingerprint.emplace_back("learning rate", rate ? fmt::format("{}", *rate) : "scheduled");
  const std::optional<LossScaleState>& scale = run.position.loss_scale;
  fingerprint.emplace_back("loss scale", scale ? fmt::format("{} after {} good and {} bad steps", scale->scale,
                                                             scale->good_steps, scale->bad_steps)
                                               : "none");
  fingerprint.emplace_back("first step", fmt::format("{}", run.info.first_step));
  fingerprint.emplace_back("steps", fmt::format("{}", run.info.steps));
  fingerprint.emplace_back(
      "checkpoint", run.resumed != nullptr ? checksum_of_text(print_manifest(*run.resumed->manifest())) : "none");
  fingerprint.emplace_back("validation rows", fmt::format("{}", fit.validation ? fit.validation->size() : 0));
  fingerprint.emplace_back("test rows", fmt::format("{}", fit.test ? fit.test->size() : 0));
  fingerprint.emplace_back("keeps states", fit.keeps_states ? "yes" : "no");
  return fingerprint;
}

}  // namespace partita
