// partita generate: text from a trained language model, one byte after another.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/philox.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "training/model.h"

namespace partita {
namespace {

constexpr int64_t kBytes = 256;

struct GenerateFlags {
  JobFlags job;
  std::string prompt = "\n";
  int64_t length = 200;
  double temperature = 0.8;
};

/// Returns an index below `count` drawn from softmax(logits / temperature), or the first index of the largest logit if
/// the temperature is 0. `key` and `step` decide the draw. Throws RuntimeFailure(non_finite) if a logit is not finite.
int64_t draw(const float* logits, int64_t count, double temperature, uint64_t key, uint64_t step) {
  if (!std::all_of(logits, logits + count, [](float logit) { return std::isfinite(logit); })) {
    throw RuntimeFailure(ExitCode::non_finite,
                         "[generate] logits are not finite, got NaN or infinite, expected numbers");
  }
  const int64_t best = std::max_element(logits, logits + count) - logits;
  if (temperature == 0) return best;
  std::vector<double> upto(static_cast<size_t>(count));
  double total = 0;
  for (int64_t i = 0; i < count; ++i) {
    total += std::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[best])) / temperature);
    upto[static_cast<size_t>(i)] = total;
  }
  constexpr int64_t kSteps = int64_t{1} << 53;
  const double at = static_cast<double>(random_below(key, step, 0, kSteps)) / static_cast<double>(kSteps) * total;
  return std::min<int64_t>(count - 1, std::ranges::upper_bound(upto, at) - upto.begin());
}

void check(const GenerateFlags& flags, const ZooModel& model) {
  if (!model.predicts_next_token()) {
    std::vector<std::string> names = model_names();
    std::erase_if(names, [](const std::string& name) { return !make_model(name).predicts_next_token(); });
    throw InvalidArgument("[generate] not a language model, got {}, expected {} with any sizes", flags.job.model,
                          fmt::join(names, " or "));
  }
  if (model.rows.classes != kBytes) {
    throw InvalidArgument("[generate] tokens are not bytes, got a vocabulary of {}, expected {}", model.rows.classes,
                          kBytes);
  }
  check_range("--length", flags.length, 1, 1 << 20);
  if (!(flags.temperature >= 0 && flags.temperature <= 100)) {
    throw InvalidArgument("[--temperature] out of range, got {}, expected 0 to 100", flags.temperature);
  }
}

void run_generate(const GenerateFlags& flags) {
  const Place started = this_place(), place = started.alone();
  if (started.ranks() > 1) {
    throw InvalidArgument("[generate] text is written by one process, got {} of {}, expected one", started.ranks(),
                          started.launched->launcher);
  }
  const ZooJob job(configuration(flags.job), place);
  if (printed_config(flags.job, job.config())) return;
  check(flags, job.model());
  const std::string& weights = job.config().files.load;
  if (weights.empty()) throw InvalidArgument("[generate] --load is required, got no weights, expected --load FILE");
  Model model(job, place);

  const int64_t window = job.data().format().text.tokens, vocabulary = job.data().format().classes;
  Array tokens(Type{DType::i32, {1, window}});
  const auto predict = model.predictor({{"tokens", {DType::i32, {window}}}}, /*rows=*/1);
  std::vector<int32_t> text;
  for (const char c : flags.prompt) text.push_back(static_cast<uint8_t>(c));
  const uint64_t key = random_key(job.config().training.seed, "generate");
  std::cout << flags.prompt;
  for (int64_t step = 0; step < flags.length; ++step) {
    const int64_t context = std::min(window, static_cast<int64_t>(text.size()));
    std::copy_n(text.end() - context, context, tokens.as<int32_t>());  // tokens after the context are masked
    const Array logits = cast(predict({{"tokens", tokens}}).at(0).second, DType::f32);
    const int64_t next = draw(logits.as<float>() + (context - 1) * vocabulary, vocabulary, flags.temperature, key,
                              static_cast<uint64_t>(step));
    text.push_back(static_cast<int32_t>(next));
    std::cout << static_cast<char>(next) << std::flush;
  }
  std::cout << "\n";
}

}  // namespace

void add_generate(CLI::App& app) {
  const auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = add_command(app, "generate", "Write text with a trained language model", flags, run_generate);
  add_job_flags(*command, flags->job, [](const JobOption& option) {
    return option.key() == "files.load" || option.key() == "training.seed" || option.key() == "ranks.threads" ||
           option.key() == "ranks.device" || option.key() == "ranks.deterministic" ||
           option.key() == "training.dtype" || rounds_values(option);
  });
  command->add_option("--prompt", flags->prompt, "Text to continue")->capture_default_str();
  command->add_option("--length", flags->length, "Bytes to write")->capture_default_str();
  command->add_option("--temperature", flags->temperature, "Temperature of sampling; 0: always the likeliest byte")
      ->capture_default_str();
  command->footer("Example: partita generate gpt --load gpt.safetensors --prompt 'ROMEO:' --length 500");
}

}  // namespace partita
