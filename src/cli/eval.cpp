// partita eval: the test accuracy of saved weights.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/rows.h"
#include "training/model.h"

namespace partita {
namespace {

bool takes(const JobOption& option) {
  switch (option.section) {
    case OptionSection::optimizer:
    case OptionSection::schedule: return false;
    case OptionSection::training:
      return option.name == "batch" || option.name == "dtype" || option.name == "seed" || option.name == "loss" ||
             option.name == "ignore_index" || rounds_values(option);
    case OptionSection::plan:  // an evaluation runs a batch as a whole
      return option.name != "micro_batches" && option.name != "order" && option.name != "recompute" &&
             !option.name.starts_with("zero");
    case OptionSection::files:
      return option.name.starts_with("load") || option.name == "adapters" || option.name == "log_dir";
    case OptionSection::console: return option.name != "per_print_times";
    default: return true;
  }
}

void run_eval(const JobFlags& flags) {
  const Place place = this_place();
  JobConfig config = configuration(flags);
  // Without a training, --batch can only mean the batch of the evaluation.
  if (is_given(flags, "training.batch") && !is_given(flags, "evaluation.batch")) {
    config.evaluation.batch = config.training.batch;
  }
  const ZooJob job(config, place);
  if (printed_config(flags, job.config())) return;
  if (config.files.load.empty())
    throw InvalidArgument("[eval] --load is required, got no weights, expected --load FILE");
  const bool shows_top = is_set(flags, "evaluation.top");
  Model model(job, place);
  const Metrics metrics = model.eval();
  print_result(std::cout, metrics, ResultLines::all, shows_top);
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto flags = std::make_shared<JobFlags>();
  CLI::App* command = add_command(app, "eval", "Test saved weights", flags, run_eval);
  add_job_flags(*command, *flags, takes);
  command->footer("Example: partita eval lenet --data mnist:data/mnist --load lenet.safetensors");
}

}  // namespace partita
