// Answers in conversations, and conversations, templates and flags that are refused.

#include "cli/chat/test_chat.h"
#include "errors/chat_folder.h"
#include "support/program.h"

namespace partita {
namespace {

class Chats : public testing::Test {
  void SetUp() override {
    if (!has_jinja()) GTEST_SKIP() << "no package jinja2 for python3";
  }
};

std::string output_of(const std::vector<std::string>& words) {
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  return outcome.output;
}

TEST_F(Chats, AnswerWhatTheTemplateMakes) {
  const ChatFolder folder;
  const std::string prompt = "<s>[U]hi[A]", continued = output_of(folder.generate({"--prompt", prompt}));
  ASSERT_TRUE(continued.starts_with(prompt));
  const std::string answer = continued.substr(prompt.size());
  EXPECT_EQ(output_of(folder.generate({"--chat", "hi"})), answer);
  folder.write("one.json", R"([{"role": "user", "content": "hi"}])");
  folder.write("two.json", R"({"messages": [{"role": "user", "content": "hi"}], "tools": null})");
  EXPECT_EQ(output_of(folder.generate({"--chat-file", folder.in("one.json")})), answer);
  EXPECT_EQ(output_of(folder.generate({"--chat-file", folder.in("two.json")})), answer);
  EXPECT_EQ(output_of(folder.generate({"--chat", "hi", "--chat-template", folder.path})), answer);
  folder.write("other.jinja", "{{ bos_token }}[U]{{ messages[0].content | upper }}[A]");
  const std::string upper = output_of(folder.generate({"--prompt", "<s>[U]HI[A]"})).substr(prompt.size());
  EXPECT_EQ(output_of(folder.generate({"--chat", "hi", "--chat-template", folder.in("other.jinja")})), upper);
}

TEST_F(Chats, EndAtEndTokens) {
  const ChatFolder folder;
  const std::string answer = output_of(folder.generate({"--chat", "hi"}));
  ASSERT_GT(answer.size(), 2u);
  const auto third = static_cast<int>(static_cast<uint8_t>(answer[2]));
  const size_t at = answer.find(answer[2]);  // where the token is drawn first
  folder.write("generation_config.json", fmt::format(R"({{"eos_token_id": [1000, {}]}})", third));
  EXPECT_EQ(output_of(folder.generate({"--chat", "hi"})), answer.substr(0, at) + "\n");
  EXPECT_EQ(output_of(folder.generate({"--chat", "hi", "--ignore-eos"})), answer);
  EXPECT_EQ(output_of(folder.generate({"--prompt", "<s>[U]hi[A]"})), "<s>[U]hi[A]" + answer);
}

TEST_F(Chats, AreRefused) {
  const ChatFolder folder;
  const auto refuses = [&](const std::vector<std::string>& more, ExitCode code, const std::vector<std::string>& parts) {
    expect_refusal(folder.generate(more), code, parts);
  };
  const auto in_file = [&](const std::string& text, const std::string& part) {
    folder.write("c.json", text);
    refuses({"--chat-file", folder.in("c.json")}, ExitCode::bad_input, {"[chat] " + folder.in("c.json") + ": " + part});
  };
  in_file("[", "no JSON, got an error at byte");
  in_file("3", "no conversation, got number, expected a list of messages, or an object with a list 'messages'");
  in_file("{}", "no conversation, got object");
  in_file("[]", "no messages, got an empty list, expected one or more");
  in_file("[3]", "message 1 is no message, got number, expected an object with role and content");
  in_file(R"([{"role": "user", "content": "a"}, {"content": "a"}])",
          "message 2 has no role, got none, expected a text");
  in_file(R"([{"role": 3, "content": "a"}])", "message 1 has no role, got number");
  in_file(R"([{"role": "user"}])", "message 1 has no content, got none, expected a text");
  in_file(R"([{"role": "user", "content": 3}])", "message 1 has no content, got number");
  in_file(R"({"messages": [{"role": "user", "content": "a"}], "tools": 3})", "no tools, got number, expected a list");
  in_file(R"([{"role": "system", "content": "a"}])", "the template refuses it, got 'no systems'");
  refuses({"--chat-file", folder.in("none.json")}, ExitCode::missing_file, {"[chat] cannot read", "none.json"});
  refuses({"--chat", "a\xff"}, ExitCode::usage, {"[--chat] no UTF-8, got another byte at 1, expected a text"});
  refuses({"--chat", "a", "--prompt", "b"}, ExitCode::usage, {"[generate] --prompt excludes --chat"});
  refuses({"--chat", "a", "--chat-file", "b"}, ExitCode::usage, {"[generate] --chat excludes --chat-file"});
  refuses({"--chat-template", "b"}, ExitCode::usage, {"[--chat-template] has no effect, got no conversation"});
  refuses({"--ignore-eos"}, ExitCode::usage, {"[--ignore-eos] has no effect, got no conversation, expected --chat"});
  refuses({"--chat", "a", "--chat-template", "none"}, ExitCode::missing_file,
          {"[chat] 'none' has no chat template, got neither chat_template.jinja nor one in tokenizer_config.json"});
  expect_refusal({"generate", "gpt:layers=1,hidden=8,heads=2,seq=32,vocab=260", "--load",
                  (folder.folder.path() / "weights.safetensors").string(), "--tokenizer", "bytes", "--chat", "a"},
                 ExitCode::usage, {"[generate] no chat template, got neither weights in a folder of Hugging Face nor"});
  folder.write("chat_template.jinja", "{{ 'a' if x }}");
  refuses({"--chat", "a"}, ExitCode::bad_input, {"chat_template.jinja: no tokens, got an empty text of --chat"});
}

// The vocabulary of the model is 260, but a tokenizer without special tokens learns of others.
TEST_F(Chats, TokensAreThoseOfTheModel) {
  const ChatFolder folder;
  folder.write("tokenizer_config.json", R"({"bos_token": "<s>", "added_tokens_decoder": {"260": {"content": "<s>"}}})");
  expect_refusal(folder.generate({"--chat", "a", "--tokenizer", "bytes"}), ExitCode::bad_input,
                 {"chat_template.jinja: a token that the model does not have, got id 260, expected at most 259"});
  folder.write("tokenizer_config.json", R"({"bos_token": "<s>", "added_tokens_decoder": {"259": {"content": "<s>"}}})");
  EXPECT_EQ(run_program(folder.generate({"--chat", "a", "--tokenizer", "bytes"})).exit_code, 0);
}

// PATH has no python3.
TEST(ChatPrograms, ThatAreMissing) {
  const ChatFolder folder;
  const Outcome outcome =
      run_program(folder.generate({"--chat", "a"}), [&] { ::setenv("PATH", folder.path.c_str(), 1); });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::usage));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.lines[0].find("[chat] no program 'python3' in PATH"), std::string::npos) << outcome.lines[0];
  EXPECT_NE(outcome.lines[0].find("apt install python3-jinja2"), std::string::npos) << outcome.lines[0];
}

}  // namespace
}  // namespace partita
