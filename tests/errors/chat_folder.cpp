#include "errors/chat_folder.h"

#include <nlohmann/json.hpp>

#include "cli/tokenizers/byte_pairs.h"
#include "support/program.h"

namespace partita {
namespace {

nlohmann::json tokenizer_with_tokens() {
  nlohmann::json vocabulary, added = nlohmann::json::array();
  for (int byte = 0; byte < 256; ++byte) vocabulary[character_of(static_cast<uint8_t>(byte))] = byte;
  int id = 256;
  for (const char* token : {"<s>", "</s>", "[A]", "[U]"}) {
    added.push_back({{"id", id++}, {"content", token}, {"normalized", false}, {"special", true}});
  }
  return {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}},
          {"added_tokens", added}};
}

void succeed(const std::vector<std::string>& words) {
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
}

}  // namespace

ChatFolder::ChatFolder() : path((folder.path() / "model").string()) {
  const std::string weights = (folder.path() / "weights.safetensors").string();
  succeed({"train", "gpt:layers=1,hidden=8,heads=2,seq=32,vocab=260", "--batch", "4", "--steps", "1", "--threads", "1",
           "--no-eval", "--save", weights});
  succeed({"export", weights, "--out", path});
  write("tokenizer.json", tokenizer_with_tokens().dump());
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  write("chat_template.jinja",
        "{{ bos_token }}{% for m in messages %}"
        "{% if m.role == 'system' %}{{ raise_exception('no systems') }}{% endif %}"
        "{{ '[A]' + m.content + eos_token if m.role == 'assistant' else '[U]' + m.content }}{% endfor %}"
        "{% if add_generation_prompt %}[A]{% endif %}");
}

void ChatFolder::write(const std::string& name, const std::string& text) const { write_text(in(name), text); }

std::vector<std::string> ChatFolder::generate(const std::vector<std::string>& more) const {
  std::vector<std::string> words{"generate", "hf:" + path, "--length", "6", "--temperature", "0", "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace partita
