// Texts and tokenizers that `partita tokenize` refuses.

#include "cli/chat/test_chat.h"
#include "frontend/data/readers/test_token_files.h"
#include "errors/chat_folder.h"
#include "support/program.h"

namespace partita {
namespace {

Bytes bytes_in(const std::string& text) { return {text.begin(), text.end()}; }

TEST(Tokenize, BytesOfTextsAndLines) {
  const TempDir folder;
  const std::string lines = folder.write(
      "a.jsonl.gz", gzip(bytes_in("{\"text\": \"ab\"}\n\n{\"x\": 1, \"text\": \"\"}\n{\"text\": \"c\xff\"}")));
  const std::string text = folder.write("b.txt", bytes_in("d\n")), out = (folder.path() / "out").string();
  const Outcome outcome = run_program({"tokenize", lines, text, "--tokenizer", "bytes", "--out", out + ".bin"});
  // JSON is UTF-8, so the line with another byte is refused.
  EXPECT_EQ(outcome.exit_code, 65);
  EXPECT_FALSE(std::filesystem::exists(out + ".bin"));
  EXPECT_FALSE(std::filesystem::exists(out + ".bin.part"));
  const std::string good =
      folder.write("a.jsonl", bytes_in("{\"text\": \"ab\"}\n\n{\"text\": \"\"}\n{\"text\": \"\xc3\xa9\"}"));
  const Outcome written = run_program({"tokenize", good, text, "--tokenizer", "bytes", "--out", out + ".bin"});
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_EQ(written.output, fmt::format("3 documents, 6 ids below 256 as u16 in {0}.bin and {0}.idx\n", out));
  const std::vector<std::vector<int32_t>> expected{{'a', 'b'}, {0xc3, 0xa9}, {'d', '\n'}};
  const std::string index = write_indexed<uint16_t>(folder, "expected", expected);
  EXPECT_EQ(read_bytes(out + ".idx"), read_bytes(index));
  EXPECT_EQ(read_bytes(out + ".bin"), read_bytes(folder.path() / "expected.bin"));
}

/// Returns the ids of a file of u16.
std::vector<int32_t> written_ids(const std::string& path) {
  const Bytes bytes = read_bytes(path);
  std::vector<int32_t> ids;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) ids.push_back(bytes[i] | bytes[i + 1] << 8);
  return ids;
}

TEST(Tokenize, PromptsAreNoTargets) {
  const TempDir folder;
  const std::string out = (folder.path() / "out").string();
  const std::string lines = folder.write("a.jsonl", bytes_in("{\"text\": \"ab\"}\n"
                                                             "{\"prompt\": \"cde\", \"completion\": \"fg\"}\n"
                                                             "{\"prompt\": \"\", \"completion\": \"\"}\n"
                                                             "{\"prompt\": \"h\", \"completion\": \"\"}\n"
                                                             "{\"prompt\": \"\", \"completion\": \"ij\"}"));
  const std::vector<std::string> words{"tokenize", lines, "--tokenizer", "bytes", "--out", out};
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output,
            fmt::format("4 documents, 10 ids below 256 as u16 in {0}.bin and {0}.idx, 6 targets by {0}.mask\n", out));
  const std::string index =
      write_indexed<uint16_t>(folder, "expected", {{'a', 'b'}, {'c', 'd', 'e', 'f', 'g'}, {'h'}, {'i', 'j'}});
  EXPECT_EQ(read_bytes(out + ".idx"), read_bytes(index));
  EXPECT_EQ(read_bytes(out + ".bin"), read_bytes(folder.path() / "expected.bin"));
  EXPECT_EQ(read_bytes(out + ".mask"), mask_bytes({true, true, false, false, false, true, true, false, true, true}));
  // Without a prompt the older mask goes.
  folder.write("a.jsonl", bytes_in("{\"text\": \"ab\"}"));
  EXPECT_EQ(run_program(words).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(out + ".mask"));
}

TEST(Tokenize, ConversationsByAChatTemplate) {
  if (!has_jinja()) GTEST_SKIP() << "no package jinja2 for python3";
  const ChatFolder folder;
  const std::string out = folder.in("out");
  folder.write("a.jsonl", R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, )"
                          R"({"role": "user", "content": "cd"}, {"role": "assistant", "content": "e"}]})"
                          "\n"
                          R"({"prompt": "x", "completion": "y"})");
  const std::vector<int32_t> expected{256, 259, 'a', 258, 'b', 257, 259, 'c', 'd', 258, 'e', 257, 'x', 'y', 257};
  const std::vector<bool> targets{false, false, false, false, true,  true, false, false,
                                  false, false, true,  true,  false, true, true};
  const auto tokenized = [&](const std::string& tokenizer, const std::vector<std::string>& more) {
    std::vector<std::string> words{"tokenize", folder.in("a.jsonl"), "--tokenizer", tokenizer, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    EXPECT_EQ(read_bytes(out + ".mask"), mask_bytes(targets));
    EXPECT_EQ(outcome.output, fmt::format("2 documents, 15 ids below 260 as u16 in {0}.bin and {0}.idx, 6 targets by "
                                          "{0}.mask\n",
                                          out));
    return written_ids(out + ".bin");
  };
  EXPECT_EQ(tokenized(folder.in("tokenizer.json"), {"--end", "</s>"}), expected);
  // A tokenizer that does not know the special tokens gets them from the folder, but for texts.
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": "</s>", "added_tokens_decoder": {"256": {"content": "<s>"},
                  "257": {"content": "</s>"}, "258": {"content": "[A]"}, "259": {"content": "[U]"}}})");
  folder.write("a.jsonl", read_text(folder.in("a.jsonl")) + R"(
{"prompt": "<s>", "completion": "z"})");
  const Outcome outcome = run_program(
      {"tokenize", folder.in("a.jsonl"), "--tokenizer", "bytes", "--out", out, "--chat-template", folder.path});
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  std::vector<int32_t> ids(expected.begin(), expected.end() - 1);
  ids.insert(ids.end(), {'<', 's', '>', 'z'});
  EXPECT_EQ(written_ids(out + ".bin"), ids);
}

TEST(Tokenize, ConversationsThatAreRefused) {
  if (!has_jinja()) GTEST_SKIP() << "no package jinja2 for python3";
  const ChatFolder folder;
  const std::string path = folder.in("a.jsonl");
  const auto refuses = [&](const std::string& line, ExitCode code, const std::vector<std::string>& parts,
                           const std::vector<std::string>& more = {}) {
    folder.write("a.jsonl", "\n" + line);
    std::vector<std::string> words{"tokenize", path, "--out", folder.in("out")};
    words.insert(words.end(), more.begin(), more.end());
    if (more.empty()) words.insert(words.end(), {"--tokenizer", folder.in("tokenizer.json")});
    expect_refusal(words, code, parts);
    for (const char* ending : {".bin", ".idx", ".mask", ".mask.part", ".bin.part"}) {
      EXPECT_FALSE(std::filesystem::exists(folder.in("out") + ending)) << ending;
    }
  };
  const std::string good = R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})";
  const std::string where = "[chat] '" + path + "' line 2: ";
  refuses(R"({"messages": []})", ExitCode::bad_input, {where + "no messages, got an empty list"});
  refuses(R"({"messages": [{"content": "a"}]})", ExitCode::bad_input, {where + "message 1 has no role, got none"});
  refuses(R"({"messages": [{"role": "system", "content": "a"}]})", ExitCode::bad_input,
          {where + "the template refuses it, got 'no systems', expected messages that"});
  refuses(R"({"messages": [{"role": "user", "content": "a"}]})", ExitCode::bad_input,
          {"[tokenize] no targets, got 1 documents that are prompts alone, expected answers, too"});
  refuses(R"({"prompt": "a", "completion": ["b"]})", ExitCode::bad_input,
          {"[tokenize] '" + path +
           "' line 2: no text, got an object without it, expected an object with a string "
           "'text', with strings 'prompt' and 'completion', or with 'messages'"});
  refuses(good, ExitCode::usage,
          {"[tokenize] '" + path + "' line 2: a conversation, got no chat template, expected --chat-template PATH"},
          {"--tokenizer", "bytes"});
  refuses(good, ExitCode::missing_file, {"[chat] 'none' has no chat template"},
          {"--tokenizer", "bytes", "--chat-template", "none"});
  std::filesystem::remove(folder.in("chat_template.jinja"));
  refuses(good, ExitCode::missing_file, {"[chat] '" + folder.path + "' has no chat template, got neither"});
  folder.write("chat_template.jinja", "{{ messages[-1].content }}");
  refuses(good, ExitCode::bad_input, {where + "the template refuses it, got 'the text up to message 2 is another one"});
  folder.write("out.mask", "a mask of the user");
  folder.write("a.jsonl", good);
  expect_refusal({"tokenize", path, "--tokenizer", "bytes", "--out", folder.in("out")}, ExitCode::usage,
                 {"[--out] " + folder.in("out.mask") + " would be replaced, got a file that is no mask of ids"});
  expect_refusal({"tokenize", folder.in("tokenizer.json"), "--tokenizer", "bytes", "--out", folder.in("other"),
                  "--chat-template", folder.path},
                 ExitCode::usage, {"[--chat-template] has no effect, got no conversations, expected a file of lines"});
}

TEST(Tokenize, Refusals) {
  const TempDir folder;
  const std::string text = folder.write("a.txt", bytes_in("abc")), out = (folder.path() / "out").string();
  const auto refuses = [&](const std::string& input, const std::string& tokenizer, ExitCode code,
                           const std::vector<std::string>& parts, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"tokenize", input, "--tokenizer", tokenizer, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    expect_refusal(words, code, parts);
    EXPECT_FALSE(std::filesystem::exists(out + ".bin"));
    EXPECT_FALSE(std::filesystem::exists(out + ".bin.part"));
  };
  refuses(text, "words", ExitCode::usage, {"[--tokenizer] unknown tokenizer, got 'words', expected bytes, a tok"});
  refuses(text, "no/such.json", ExitCode::missing_file, {"[data] cannot open a file, got 'no/such.json'"});
  refuses(text, folder.write("t.json", bytes_in("[]")), ExitCode::bad_input, {"t.json': not a tokenizer, got array"});
  refuses(text, folder.write("t.model", bytes_in("\xff\xff\xff")), ExitCode::bad_input,
          {"t.model' is no SentencePiece model, got 3 bytes"});
  refuses((folder.path() / "none.txt").string(), "bytes", ExitCode::missing_file, {"[data] cannot open a file"});
  refuses(folder.write("empty.txt", {}), "bytes", ExitCode::bad_input,
          {"[tokenize] no documents, got 1 files without a text"});
  refuses(
      folder.write("a.jsonl", bytes_in("{\"text\": \"a\"}\n{\"txt\": \"a\"}")), "bytes", ExitCode::bad_input,
      {"[tokenize] '", "a.jsonl' line 2: no text, got an object without it, expected an object with a string 'text'"});
  refuses(folder.write("b.jsonl", bytes_in("5")), "bytes", ExitCode::bad_input,
          {"b.jsonl' line 1: no text, got number"});
  refuses(folder.write("c.jsonl", bytes_in("{\"text\": \"a")), "bytes", ExitCode::bad_input,
          {"c.jsonl' line 1: no JSON, got an error at byte"});
  refuses(text, "bytes", ExitCode::usage, {"[--end] unknown token, got '</s>', expected one of 'bytes'"},
          {"--end", "</s>"});
  expect_refusal({"tokenize", text, "--tokenizer", "bytes", "--out", "/proc/none/out"}, ExitCode::cannot_write,
                 {"[--out] cannot write"});
}

}  // namespace
}  // namespace partita
