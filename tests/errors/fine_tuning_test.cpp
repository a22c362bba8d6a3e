// Additions to products (LoRA) that are not what they should be, and options of generated text.

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/checkpoint/weights.h"
#include "support/program.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTuned = "gpt:layers=1,hidden=8,heads=2,seq=8,lora=2",
                     *kPlain = "gpt:layers=1,hidden=8,heads=2,seq=8";

/// Weights, additions for them, and additions of another rank.
struct TunedFiles {
  TunedFiles() : base(path("base.safetensors")), own(path("own.safetensors")), wide(path("wide.safetensors")) {
    train(kPlain, {"--save", base});
    train(kTuned, {"--load", base, "--save", own});
    train(std::string(kPlain) + ",lora=3", {"--load", base, "--save", wide});
  }
  std::string path(const char* name) const { return (folder.path() / name).string(); }
  static void train(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",   model, "--data",    "synthetic", "--batch",  "4",
                                   "--steps", "1",   "--threads", "1",         "--no-eval"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  }
  std::vector<std::string> eval(const std::string& adapters) const {
    return {"eval", kTuned, "--data", "synthetic", "--load", base, "--adapters", adapters};
  }

  TempDir folder;
  std::string base, own, wide;
};

TEST(FineTuningErrors, AdaptersAreThoseOfTheModel) {
  const TunedFiles files;
  EXPECT_EQ(run_program(files.eval(files.own)).exit_code, 0);
  expect_refusal(files.eval(files.base), ExitCode::usage, {"got gpt with lora=2, expected gpt with lora=0"});
  // Files of other programs do not say of which model they are.
  std::map<std::string, Array> tensors = load_weights(files.own);
  const std::string plain = files.path("plain.safetensors");
  const auto write = [&] { save_weights(plain, {tensors.begin(), tensors.end()}); };
  write();
  EXPECT_EQ(run_program(files.eval(plain)).exit_code, 0);
  tensors.emplace("h.7.attn.q.lora-a", tensors.begin()->second);
  write();
  expect_refusal(files.eval(plain), ExitCode::bad_input,
                 {"[adapters] " + plain + ": tensor 'h.7.attn.q.lora-a' is no addition of this network"});
  tensors.clear();
  tensors.emplace("wte.weight", Array(Type{DType::f32, {2, 2}}));
  write();
  expect_refusal(files.eval(plain), ExitCode::bad_input,
                 {"[adapters] " + plain + ": no tensor for 'h.0.attn.q.lora-a', got 1 others", "expected f32[2,8]"});
  expect_refusal(files.eval(files.wide), ExitCode::usage,
                 {"[adapters] " + files.wide +
                  ": additions for another model, got gpt with lora=2, expected gpt with "
                  "lora=3"});
  expect_refusal({"eval", std::string(kTuned) + ",lora_alpha=64", "--data", "synthetic", "--load", files.base,
                  "--adapters", files.own},
                 ExitCode::usage, {"got gpt with lora_alpha=64, expected gpt with lora_alpha=4"});
  expect_refusal({"eval", std::string(kTuned) + ",lora_layers=q", "--data", "synthetic", "--load", files.base,
                  "--adapters", files.own},
                 ExitCode::usage, {"got gpt with lora_layers=q, expected gpt with lora_layers=q+v"});
  expect_refusal(files.eval(files.path("none")), ExitCode::missing_file, {"[weights] cannot open"});
  expect_refusal({"train", kTuned, "--adapters", files.own}, ExitCode::usage, {"--adapters", "--load"});
}

TEST(FineTuningErrors, ExportsWantTheWeightsOfAdditions) {
  const TunedFiles files;
  const std::string out = files.path("out");
  expect_refusal({"export", files.own, "--out", out}, ExitCode::usage,
                 {"[export] " + files.own + ": additions to products alone, got no --base"});
  expect_refusal({"export", files.base, "--base", files.base, "--out", out}, ExitCode::usage,
                 {"[export] " + files.base + ": whole weights, got --base"});
  expect_refusal({"export", files.own, "--base", files.wide, "--out", out}, ExitCode::bad_input,
                 {"[export] " + files.wide + ": not the weights of"});
  expect_refusal(
      {"export", files.own, "--base", files.base, "--out", out, "--model", std::string(kTuned) + ",lora_layers=q"},
      ExitCode::usage,
      {"[export] " + files.own + ": the model has other additions, got 4 matrices in the file, expected 2"});
  EXPECT_FALSE(fs::exists(out));
  EXPECT_EQ(run_program({"export", files.own, "--base", files.base, "--out", out}).exit_code, 0);
  EXPECT_TRUE(fs::exists(out + "/model.safetensors"));
}

TEST(FineTuningErrors, PatternsNameSomething) {
  expect_refusal({"train", std::string(kPlain) + ",lora=2,lora_layers=query"}, ExitCode::usage,
                 {"[lora] a pattern names nothing, got 'query', expected names of dense layers"});
  expect_refusal({"train", std::string(kPlain) + ",lora_layers=q"}, ExitCode::usage,
                 {"[lora] lora_layers has no effect, got no rank, expected lora=RANK, too"});
  expect_refusal({"train", std::string(kPlain) + ",frozen=body.*"}, ExitCode::usage,
                 {"[lora] a pattern names nothing, got 'body.*', expected names of parameters"});
}

/// Returns a tokenizer.json whose tokens are the bytes, each written as a character of its own.
std::string byte_tokenizer() {
  std::string vocabulary;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_shown = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    vocabulary += fmt::format("{}\"\\u{:04x}\": {}", byte > 0 ? ", " : "", is_shown ? byte : next++, byte);
  }
  return R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [], "vocab": {)" + vocabulary +
         "}}}";
}

TEST(FineTuningErrors, OptionsOfGeneratedText) {
  const TunedFiles files;
  const std::vector<std::string> start{"generate", kPlain, "--load", files.base, "--length", "2"};
  const auto refused = [&](const char* flag, const char* value, const std::vector<std::string>& parts) {
    std::vector<std::string> words = start;
    words.insert(words.end(), {flag, value});
    expect_refusal(words, ExitCode::usage, parts);
  };
  EXPECT_EQ(run_program(start).exit_code, 0);
  refused("--top-k", "-1", {"[--top-k]"});
  refused("--top-p", "1.5", {"[--top-p] out of range, got 1.5, expected 0 to 1"});
  refused("--repetition-penalty", "0", {"[--repetition-penalty] out of range, got 0, expected 0.01 to 100"});
  refused("--tokenizer", "words", {"[--tokenizer] unknown tokenizer, got 'words'"});
  const std::string bytes = files.path("tokenizer.json");
  write_text(bytes, byte_tokenizer());
  std::vector<std::string> tokenized = start;
  tokenized.insert(tokenized.end(), {"--tokenizer", bytes, "--prompt", "ab"});
  EXPECT_EQ(run_program(tokenized).exit_code, 0);
  tokenized.back() = "ab\xf0";
  expect_refusal(tokenized, ExitCode::usage, {"[--prompt] no UTF-8, got another byte at 2, expected a text"});
  const std::string small = files.path("small.safetensors");
  TunedFiles::train("gpt:layers=1,hidden=8,heads=2,seq=8,vocab=100", {"--save", small});
  expect_refusal({"generate", "--load", small, "--tokenizer", "bytes"}, ExitCode::usage,
                 {"[--tokenizer] more tokens than the model, got 256 in bytes, expected at most 100"});
}

}  // namespace
}  // namespace partita
