// partita eval: the test accuracy of saved weights.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/jobs.h"

namespace partita {
namespace {

void run_eval(const JobFlags& flags) {
  Job job(flags);
  job.settle_threads();
  const DatasetPtr test = job.dataset(Split::test, "testing");
  Model model(*job.network, job.recipe.loss, job.recipe.optimizer, job.options);
  model.load(flags.load);
  const Accuracy accuracy = model.eval(test);
  std::cout << fmt::format("test accuracy {:.4f} ({} of {})\n", accuracy.value(), accuracy.correct, accuracy.samples);
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto flags = std::make_shared<JobFlags>();
  CLI::App* command = app.add_subcommand("eval", "Test saved weights");
  add_job_flags(*command, *flags);
  command->get_option("--load")->required();
  command->footer("Example: partita eval lenet --data mnist:data/mnist --load lenet.safetensors");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_eval(*flags);
  });
}

}  // namespace partita
