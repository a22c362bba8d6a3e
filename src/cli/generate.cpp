// partita generate: texts from a trained language model, one token after another.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "base/philox.h"
#include "cli/chat/chat_prompt.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "cli/prompts.h"
#include "cli/sampling.h"
#include "cli/tokenizers/tokenizer.h"
#include "cli/tokenizers/unicode_text.h"
#include "training/generator.h"
#include "training/model.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

constexpr int64_t kBytes = 256;

struct GenerateFlags {
  JobFlags job;
  std::string prompt = "\n", prompts, tokenizer;
  int64_t length = 200;
  bool without_cache = false;
  Sampling sampling;
  std::vector<std::string> stop;
  ChatFlags chat;
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

/// Takes what is new of a text.
using TakeText = std::function<void(std::string_view)>;

/// Passes a text on as it grows, up to a text that ends it.
class StoppedText {
 public:
  /// `stops` outlives this object.
  StoppedText(const std::vector<std::string>& stops, TakeText take) : stops_(stops), write_(std::move(take)) {}

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
    write_(std::string_view(text).substr(written_, end - written_));
    written_ = end;
  }

  const std::vector<std::string>& stops_;
  TakeText write_;
  size_t written_ = 0;
};

/// Returns the tokens of a prompt. Throws Failure for one that the tokenizer does not take or that has none. `where`
/// begins the message.
template <class Failure>
ChatPrompt encoded_prompt(const std::string& prompt, const std::string& where, Tokenizer& tokenizer) {
  if (const std::optional<size_t> at = find_invalid_utf8(prompt); at && !tokenizer.takes_any_bytes()) {
    throw Failure("{} no UTF-8, got another byte at {}, expected a text", where, *at);
  }
  ChatPrompt encoded;
  tokenizer.encode(prompt, encoded.ids);
  if (encoded.ids.empty()) throw Failure("{} no tokens, got '{}', expected a text", where, prompt);
  return encoded;
}

/// A text that grows from a prompt.
class GrowingText {
 public:
  /// Begins with a prompt. `flags` and `tokenizer` outlive this object.
  GrowingText(ChatPrompt prompt, const GenerateFlags& flags, Tokenizer& tokenizer, uint64_t key, TakeText take)
      : flags_(flags),
        tokenizer_(tokenizer),
        key_(key),
        out_(flags.stop, std::move(take)),
        tokens_(std::move(prompt.ids)),
        ends_(std::move(prompt.ends)),
        begin_(tokenizer.decode(tokens_).size()) {}

  const std::vector<int32_t>& tokens() const { return tokens_; }
  /// Draws the next token and writes what is new of the text. Returns nothing if it has ended.
  std::optional<int32_t> grow(std::span<const float> logits) {
    const auto known = static_cast<size_t>(tokenizer_.vocabulary());
    const int32_t next = draw_token(logits.first(std::min(logits.size(), known)), tokens_, flags_.sampling, key_,
                                    static_cast<uint64_t>(steps_++));
    if (ends_.contains(next)) {
      out_.finish(written());
      return std::nullopt;
    }
    tokens_.push_back(next);
    if (out_.take(written())) return std::nullopt;
    if (steps_ < flags_.length) return next;
    out_.finish(written());
    return std::nullopt;
  }

 private:
  /// Returns the text after the prompt. Its first space may depend on the prompt.
  std::string written() { return tokenizer_.decode(tokens_).substr(begin_); }

  const GenerateFlags& flags_;
  Tokenizer& tokenizer_;
  uint64_t key_;
  StoppedText out_;
  std::vector<int32_t> tokens_;
  std::set<int32_t> ends_;
  size_t begin_;
  int64_t steps_ = 0;
};

void write_now(std::string_view text) { std::cout << text << std::flush; }

/// Lengthens all texts, and calls `ended` for each that has ended, on the first rank. If stdout takes no more, all end:
/// the command reports it. Throws what Model::generate and `ended` throw.
void grow_all(const GenerateFlags& flags, Model& model, std::vector<GrowingText>& texts,
              const std::function<void(size_t text)>& ended) {
  GenerateRequest request{.length = flags.length, .cache = !flags.without_cache};
  for (const GrowingText& text : texts) request.texts.push_back(text.tokens());
  model.generate(request, [&](size_t text, std::span<const float> logits) {
    const std::optional<int32_t> next = texts[text].grow(logits);
    if (!next) ended(text);
    return std::cout ? next : std::nullopt;
  });
}

/// Writes the text of one prompt as it grows, or an answer in a conversation.
void write_text(const GenerateFlags& flags, Model& model, Tokenizer& tokenizer, const std::optional<ChatPrompt>& chat,
                uint64_t seed) {
  std::string before = chat ? "" : flags.prompt;  // comes with the first piece, when the weights have been read
  const auto write = [&](std::string_view text) { write_now(std::exchange(before, "") + std::string(text)); };
  std::vector<GrowingText> texts;
  texts.emplace_back(chat ? *chat : encoded_prompt<InvalidArgument>(flags.prompt, "[--prompt]", tokenizer), flags,
                     tokenizer, random_key(seed, "generate"), write);
  grow_all(flags, model, texts, [&](size_t) { write("\n"); });
}

/// Writes a line of JSON for each prompt of the file, as soon as its text and those before it have ended.
void write_texts(const GenerateFlags& flags, Model& model, Tokenizer& tokenizer, uint64_t seed) {
  const std::vector<Prompt> prompts = read_prompts(flags.prompts);
  std::vector<std::string> written(prompts.size());
  std::vector<GrowingText> texts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto& [prompt, where] = prompts[i];
    const std::string stream = i == 0 ? "generate" : fmt::format("generate {}", i);  // the first as alone
    texts.emplace_back(encoded_prompt<InvalidFile>(prompt, fmt::format("[prompts] {}:", where), tokenizer), flags,
                       tokenizer, random_key(seed, stream), [&to = written[i]](std::string_view text) { to += text; });
  }
  std::vector<bool> has_ended(prompts.size(), false);
  size_t next = 0;
  grow_all(flags, model, texts, [&](size_t text) {
    has_ended[text] = true;
    for (; next < prompts.size() && has_ended[next]; ++next) {
      write_now(print_generated(prompts[next].text, written[next]) + "\n");
    }
  });
}

void run_generate(const GenerateFlags& flags) {
  const Place place = this_place();
  const ZooJob job(configuration(flags.job), place);
  if (printed_config(flags.job, job.config())) return;
  check(flags, job.model());
  const std::string& weights = job.config().files.load;
  if (weights.empty()) throw InvalidArgument("[generate] --load is required, got no weights, expected --load FILE");
  const int64_t vocabulary = job.model().rows.classes;
  const uint64_t seed = job.config().training.seed;
  std::unique_ptr<Tokenizer> tokenizer = tokenizer_of(flags, weights, vocabulary);
  const std::optional<ChatPrompt> chat =
      chat_prompt(flags.chat, {weights, flags.job.model, flags.tokenizer}, tokenizer, vocabulary);
  Model model(job, place);
  if (flags.prompts.empty()) return write_text(flags, model, *tokenizer, chat, seed);
  write_texts(flags, model, *tokenizer, seed);
}

/// Whether an option of a job has a meaning for a generation.
bool takes_option(const JobOption& option) {
  switch (option.section) {
    case OptionSection::plan:  // a step runs all texts as a whole
      return option.name != "micro_batches" && option.name != "order" && option.name != "interleave" &&
             option.name != "recompute" && option.name != "recompute_layers" && !option.name.starts_with("zero");
    case OptionSection::ranks: return true;
    case OptionSection::training: return option.name == "seed" || option.name == "dtype" || rounds_values(option);
    case OptionSection::files:
      return option.name.starts_with("load") || option.name == "adapters" || option.name == "log_dir";
    default: return false;
  }
}

}  // namespace

void add_generate(CLI::App& app) {
  const auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = add_command(app, "generate", "Write text with a trained language model", flags, run_generate);
  add_job_flags(*command, flags->job, takes_option);
  CLI::Option* prompt = command->add_option("--prompt", flags->prompt, "Text to continue")->capture_default_str();
  command
      ->add_option(
          "--prompts", flags->prompts,
          "A text to continue in each line; of a .jsonl file in its \"prompt\". Writes a line of JSON for each")
      ->type_name("FILE")
      ->excludes(prompt);
  add_chat_flags(*command, flags->chat);
  command->add_flag("--no-cache", flags->without_cache,
                    "Compute the whole text for each token, without a cache of keys and values");
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
