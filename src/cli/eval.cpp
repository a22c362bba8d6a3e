// partita eval: the test accuracy of saved weights.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/jobs.h"

namespace partita {
namespace {

struct EvalFlags {
  JobFlags job;
  int64_t top = 0;  // 0: not asked for
};

void run_eval(const EvalFlags& flags) {
  Job job(flags.job);
  check_range("--top-k", flags.top, 0, kLargestNumber);
  job.settle();
  const DatasetPtr test = job.dataset(Split::test, "testing");
  Model model(*job.network, job.recipe.loss, job.recipe.optimizer, job.options);
  model.load(flags.job.load);
  const Metrics metrics = model.eval(test, std::max<int64_t>(flags.top, 1));
  std::cout << fmt::format("test accuracy {:.4f} ({} of {})\n", metrics.accuracy(), metrics.correct, metrics.samples);
  if (flags.top > 0) {
    std::cout << fmt::format("test top-{} accuracy {:.4f} ({} of {})\n", flags.top, metrics.top_accuracy(),
                             metrics.correct_in_top, metrics.samples);
  }
  std::cout << fmt::format("test loss {:.4f}\n", metrics.loss);
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app.add_subcommand("eval", "Test saved weights");
  add_job_flags(*command, flags->job);
  command->add_option("--top-k", flags->top, "Count labels among the K likeliest, too")->type_name("K");
  command->get_option("--load")->required();
  command->footer("Example: partita eval lenet --data mnist:data/mnist --load lenet.safetensors");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_eval(*flags);
  });
}

}  // namespace partita
