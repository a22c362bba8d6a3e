// partita generate: text from a trained language model, one token after another.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/philox.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "cli/sampling.h"
#include "cli/tokenizers/tokenizer.h"
#include "cli/tokenizers/unicode_text.h"
#include "training/model.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

constexpr int64_t kBytes = 256;

struct GenerateFlags {
  JobFlags job;
  std::string prompt = "\n", tokenizer;
  int64_t length = 200;
  Sampling sampling;
  std::vector<std::string> stop;
};

/// Returns the name of the tokenizer in a folder of Hugging Face whose weights are loaded; "" if there is none.
std::string tokenizer_of_folder(const std::string& weights) {
  if (!is_hugging_face(weights)) return "";
  const std::string folder = hugging_face_folder(weights);
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    std::error_code failure;
    if (std::filesystem::exists(folder + "/" + name, failure)) return folder + "/" + name;
  }
  return "";
}

/// Opens a tokenizer. If a tokenizer.json that was found in a folder is of a kind that cannot be read, takes the
/// tokenizer.model next to it. Throws as open_tokenizer does.
std::unique_ptr<Tokenizer> opened_tokenizer(const std::string& name, bool is_found) {
  const std::filesystem::path model = std::filesystem::path(name).replace_filename("tokenizer.model");
  std::error_code failure;
  if (!is_found || !name.ends_with(".json") || !std::filesystem::exists(model, failure)) return open_tokenizer(name);
  try {
    return open_tokenizer(name);
  } catch (const InvalidFile&) {
    return open_tokenizer(model.string());
  }
}

/// Opens the tokenizer of the flag, that of the folder of the weights, or bytes. Throws as open_tokenizer does, and
/// InvalidArgument if it has tokens that the model does not have, or if there is none and the model has not 256 tokens.
std::unique_ptr<Tokenizer> tokenizer_of(const GenerateFlags& flags, const std::string& weights, int64_t vocabulary) {
  std::string name = flags.tokenizer.empty() ? tokenizer_of_folder(weights) : flags.tokenizer;
  if (name.empty() && flags.job.model.starts_with(kHuggingFace)) {
    name = tokenizer_of_folder(read_hugging_face_model(flags.job.model).folder);
  }
  if (name.empty() && vocabulary != kBytes) {
    throw InvalidArgument("[generate] tokens are not bytes, got a vocabulary of {}, expected {} or --tokenizer NAME",
                          vocabulary, kBytes);
  }
  if (name.empty()) name = "bytes";
  std::unique_ptr<Tokenizer> tokenizer = opened_tokenizer(name, /*is_found=*/flags.tokenizer.empty());
  if (tokenizer->vocabulary() <= vocabulary) return tokenizer;
  throw InvalidArgument("[--tokenizer] more tokens than the model, got {} in {}, expected at most {}",
                        tokenizer->vocabulary(), name, vocabulary);
}

void check(const GenerateFlags& flags, const ZooModel& model) {
  if (!model.predicts_next_token()) {
    std::vector<std::string> names = model_names();
    std::erase_if(names, [](const std::string& name) { return !make_model(name).predicts_next_token(); });
    throw InvalidArgument("[generate] not a language model, got {}, expected {} with any sizes", flags.job.model,
                          fmt::join(names, " or "));
  }
  check_range("--length", flags.length, 1, 1 << 20);
  check_range("--top-k", flags.sampling.top_k, 0, 1 << 24);
  const auto check_number = [](const char* flag, double value, double low, double high) {
    if (value >= low && value <= high) return;
    throw InvalidArgument("[{}] out of range, got {}, expected {} to {}", flag, value, low, high);
  };
  check_number("--temperature", flags.sampling.temperature, 0, 100);
  check_number("--top-p", flags.sampling.top_p, 0, 1);
  check_number("--repetition-penalty", flags.sampling.repetition_penalty, 0.01, 100);
}

/// Writes a text as it grows, up to a text that ends it.
class StoppedText {
 public:
  explicit StoppedText(const std::vector<std::string>& stops) : stops_(stops) {}

  /// Takes the whole text so far and writes what is new of it, but for what may be the begin of a text that ends it.
  /// Returns whether it has ended.
  bool take(const std::string& text) {
    size_t end = std::string::npos, kept = 0;
    for (const std::string& stop : stops_) {
      end = std::min(end, text.find(stop, written_));
      for (size_t n = std::min(stop.size() - 1, text.size()); n > kept; --n) {
        if (text.ends_with(std::string_view(stop).substr(0, n))) kept = n;
      }
    }
    // The bytes of a character come one after another, and stand for another one until it is whole.
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    for (size_t size = text.size(); text.substr(0, size).ends_with(kReplacement); size -= kReplacement.size()) {
      kept = std::max(kept, text.size() - size + kReplacement.size());
    }
    write(text, end != std::string::npos ? end : text.size() - kept);
    return end != std::string::npos;
  }
  /// Writes the rest of the text, which has not been ended.
  void finish(const std::string& text) { write(text, text.size()); }

 private:
  void write(const std::string& text, size_t end) {
    if (end <= written_) return;
    std::cout << std::string_view(text).substr(written_, end - written_) << std::flush;
    written_ = end;
  }

  const std::vector<std::string>& stops_;
  size_t written_ = 0;
};

void write_text(const GenerateFlags& flags, Model& model, const RowFormat& format, Tokenizer& tokenizer,
                uint64_t seed) {
  const int64_t window = format.text.tokens, vocabulary = format.classes;
  Array tokens(Type{DType::i32, {1, window}});
  const auto predict = model.predictor({{"tokens", {DType::i32, {window}}}}, /*rows=*/1);
  std::vector<int32_t> text;
  if (const std::optional<size_t> at = find_invalid_utf8(flags.prompt); at && !tokenizer.takes_any_bytes()) {
    throw InvalidArgument("[--prompt] no UTF-8, got another byte at {}, expected a text", *at);
  }
  tokenizer.encode(flags.prompt, text);
  if (text.empty()) throw InvalidArgument("[--prompt] no tokens, got '{}', expected a text", flags.prompt);
  const uint64_t key = random_key(seed, "generate");
  const size_t begin = tokenizer.decode(text).size();
  const auto written = [&] { return tokenizer.decode(text).substr(begin); };  // a space may depend on the prompt
  StoppedText out(flags.stop);
  std::cout << flags.prompt;
  for (int64_t step = 0; step < flags.length; ++step) {
    const int64_t context = std::min(window, static_cast<int64_t>(text.size()));
    std::copy_n(text.end() - context, context, tokens.as<int32_t>());  // tokens after the context are masked
    const Array logits = cast(predict({{"tokens", tokens}}).at(0).second, DType::f32);
    const std::span<const float> last(logits.as<float>() + (context - 1) * vocabulary,
                                      static_cast<size_t>(std::min(vocabulary, tokenizer.vocabulary())));
    const int32_t next = draw_token(last, text, flags.sampling, key, static_cast<uint64_t>(step));
    text.push_back(next);
    if (out.take(written())) break;
    if (step + 1 == flags.length) out.finish(written());
  }
  std::cout << "\n";
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
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_of(flags, weights, job.model().rows.classes);
  Model model(job, place);
  write_text(flags, model, job.data().format(), *tokenizer, job.config().training.seed);
}

}  // namespace

void add_generate(CLI::App& app) {
  const auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = add_command(app, "generate", "Write text with a trained language model", flags, run_generate);
  add_job_flags(*command, flags->job, [](const JobOption& option) {
    return option.key() == "files.load" || option.key() == "files.adapters" || option.key() == "training.seed" ||
           option.key() == "ranks.threads" || option.key() == "ranks.device" || option.key() == "ranks.deterministic" ||
           option.key() == "training.dtype" || rounds_values(option);
  });
  command->add_option("--prompt", flags->prompt, "Text to continue")->capture_default_str();
  command->add_option("--length", flags->length, "Tokens to write, at most")->capture_default_str();
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "bytes, a tokenizer.json, or a SentencePiece model; default: that of the folder of the weights")
      ->type_name("NAME");
  command
      ->add_option("--temperature", flags->sampling.temperature,
                   "Temperature of sampling; 0: always the likeliest token")
      ->capture_default_str();
  command->add_option("--top-k", flags->sampling.top_k, "Number of likeliest tokens to draw from; 0: all")
      ->type_name("COUNT")
      ->capture_default_str();
  command
      ->add_option("--top-p", flags->sampling.top_p,
                   "Draw from the likeliest tokens that have this probability together")
      ->type_name("NUMBER")
      ->capture_default_str();
  command
      ->add_option("--repetition-penalty", flags->sampling.repetition_penalty,
                   "Makes tokens of the text less likely, above 1")
      ->type_name("NUMBER")
      ->capture_default_str();
  command->add_option("--stop", flags->stop, "End before this text; may be given several times")->type_name("TEXT");
  command->footer("Example: partita generate gpt --load gpt.safetensors --prompt 'ROMEO:' --length 500");
}

}  // namespace partita
