#include "cli/chat/chat_renderer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/chat/test_chat.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

using Tokens = std::map<std::string, std::string>;

Conversation conversation_of(const std::vector<std::pair<std::string, std::string>>& messages) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [role, content] : messages) list.push_back({{"role", role}, {"content", content}});
  return {.json = list.dump(), .where = "turns.json", .is_in_file = true};
}

ChatTemplate chat_of(const std::string& text, const Tokens& tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}) {
  return {.where = "t.jinja", .text = text, .tokens = tokens};
}

std::string text_of(const std::string& text, const Conversation& conversation) {
  return ChatRenderer(chat_of(text)).render(conversation);
}

class ChatRendering : public testing::Test {
  void SetUp() override {
    if (!has_jinja()) GTEST_SKIP() << "no package jinja2 for python3";
  }
};

TEST_F(ChatRendering, TemplatesWithHeaders) {
  ChatRenderer renderer(chat_of(kLlamaTemplate, {{"bos_token", "<|begin_of_text|>"}}));
  EXPECT_EQ(renderer.render(conversation_of({{"user", " Hi \n"}})),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  // One process answers many times.
  EXPECT_EQ(renderer.render(conversation_of({{"system", "\xc3\xa9\xf0\x9f\x98\x80 <b> & \"q\""}, {"assistant", "y"}})),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n\xc3\xa9\xf0\x9f\x98\x80 <b> & \"q\""
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\ny<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST_F(ChatRendering, TemplatesWithASystemAndTools) {
  EXPECT_EQ(text_of(kQwenTemplate, conversation_of({{"user", "a"}, {"stop", ""}, {"user", "b"}})),
            "<|im_start|>system\nBe of help.<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
  Conversation with_tools = conversation_of({{"system", "Short."}, {"user", "a"}});
  with_tools.json =
      R"({"tools": [{"z": 1, "name": "<f\u00e9>", "a": [true, null]}], "messages": )" + with_tools.json + "}";
  const std::string expected =
      "<|im_start|>system\nShort.\n# Tools\n{\"z\": 1, \"name\": \"<f\xc3\xa9>\", \"a\": [true, null]}<|im_end|>\n"
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(text_of(kQwenTemplate, with_tools), expected);
  // A template for tools is taken if there are any.
  ChatTemplate both = chat_of("plain");
  both.tool_text = "{{ tools[0].name }}";
  ChatRenderer renderer(both);
  EXPECT_EQ(renderer.render(with_tools), "<f\xc3\xa9>");
  EXPECT_EQ(renderer.render(conversation_of({{"user", "a"}})), "plain");
}

TEST_F(ChatRendering, TemplatesThatRefuse) {
  ChatRenderer renderer(chat_of(kMistralTemplate));
  EXPECT_EQ(renderer.render(conversation_of({{"user", "a"}, {"assistant", "b"}, {"user", "c"}})),
            "<s>[INST] a [/INST] b</s>[INST] c [/INST]");
  expect_error<InvalidFile>(
      [&] {
        renderer.render(conversation_of({{"system", "a"}}));
      },
      "[chat] turns.json: the template refuses it, got 'Roles must alternate, got system', "
      "expected messages that t.jinja takes");
  EXPECT_EQ(renderer.render(conversation_of({{"user", "d"}})), "<s>[INST] d [/INST]");
  Conversation flag = conversation_of({{"system", "a"}});
  flag.where = "--chat";
  flag.is_in_file = false;
  expect_error<InvalidArgument>([&] { renderer.render(flag); }, "[--chat] the template refuses it, got 'Roles");
}

TEST_F(ChatRendering, WhatTheAssistantSaysIsATarget) {
  const auto parts_of = [](const std::string& text, const Conversation& conversation) {
    std::vector<std::pair<std::string, bool>> parts;
    for (const ConversationPart& part : ChatRenderer(chat_of(text)).parts(conversation)) {
      parts.emplace_back(part.text, part.is_target);
    }
    return parts;
  };
  using Parts = std::vector<std::pair<std::string, bool>>;
  const Conversation turns = conversation_of({{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}});
  EXPECT_EQ(parts_of(kMistralTemplate, turns), (Parts{{"<s>[INST] a [/INST]", false},
                                                      {" b</s>", true},
                                                      {"[INST] c [/INST]", false},
                                                      {" d</s>", true},
                                                      {"", false}}));
  EXPECT_EQ(parts_of(kLlamaTemplate, conversation_of({{"user", "a"}, {"assistant", "b"}, {"user", "c"}})),
            (Parts{{"<s><|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
                    "<|start_header_id|>assistant<|end_header_id|>\n\n",
                    false},
                   {"b<|eot_id|>", true},
                   {"<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>", false}}));
  EXPECT_EQ(parts_of(kMistralTemplate, conversation_of({{"user", "a"}})), (Parts{{"<s>[INST] a [/INST]", false}}));
  // Thoughts of earlier answers are left out.
  const std::string forgetful =
      "{% for m in messages %}{% if m.role == 'assistant' and not loop.last %}(..){% else %}{{ m.content }}"
      "{% endif %}{% endfor %}";
  EXPECT_EQ(parts_of(forgetful, conversation_of({{"user", "a"}, {"assistant", "b"}})),
            (Parts{{"a", false}, {"b", true}, {"", false}}));
  expect_error<InvalidFile>([&] { parts_of(forgetful, turns); },
                            "[chat] turns.json: the template refuses it, got 'the text up to message 2 is another one "
                            "if more messages follow'");
}

TEST_F(ChatRendering, TemplatesThatFail) {
  const Conversation hello = conversation_of({{"user", "a"}});
  const auto fails = [&](const std::string& text, const std::string& part) {
    expect_error<InvalidFile>([&] { text_of(text, hello); }, part);
  };
  fails("a\n{% for m in %}",
        "[chat] t.jinja: no chat template, got 'TemplateSyntaxError: Expected an expression, got "
        "'end of statement block' (line 2)', expected one in the language of Jinja");
  fails("\n\n{{ x.y }}",
        "[chat] t.jinja: the template fails on turns.json, got 'UndefinedError: 'x' is undefined "
        "(line 3)', expected a text");
  fails("{% include 'other' %}", "TypeError: no loader for this environment specified");
  fails("{{ 'a' * 10 ** 11 }}", "got 'MemoryError");
  fails("{{ '\\ud800' }}", "[chat] t.jinja: no text of turns.json, got an error at byte");
  fails("{{ 'a' * (70 * 1024 * 1024) }}",
        "[chat] t.jinja: too long a text of turns.json, got more than 67108864 bytes");
}

// These reach functions of Python, files or other processes where there is no sandbox.
TEST_F(ChatRendering, TemplatesStayInTheSandbox) {
  const Conversation hello = conversation_of({{"user", "a"}});
  for (const char* text : {"{{ ''.__class__.__mro__[1].__subclasses__() }}",
                           "{{ raise_exception.__globals__['sys'].exit(3) }}", "{{ self.__init__.__globals__ }}",
                           "{{ cycler.__init__.__globals__.os.system('true') }}", "{{ messages.append(1) }}",
                           "{{ messages[0].update({'role': 'x'}) }}", "{{ '{0.__class__.__mro__}'.format(messages) }}",
                           "{{ ''|attr('__class__') }}{{ (''|attr('__class__')).mro() }}"}) {
    expect_error<InvalidFile>([&] { text_of(text, hello); }, "[chat] t.jinja: the template fails on turns.json, got '");
  }
}

TEST_F(ChatRendering, TemplatesEnd) {
  const std::string endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
  ChatRenderer renderer(chat_of(endless), {.processor = std::chrono::seconds(1)});
  expect_error<InvalidFile>(
      [&] {
        renderer.render(conversation_of({{"user", "a"}}));
      },
      "[chat] t.jinja: no text of turns.json, got none after 1 s of the processor, expected one");
  expect_error<InvalidFile>(
      [&] {
        ChatRenderer(chat_of(endless), {.processor = std::chrono::seconds(50), .answer = std::chrono::seconds(2)})
            .render(conversation_of({{"user", "a"}}));
      },
      "no text of turns.json, got none after 2 s, expected one");
}

TEST(ChatPython, ThatIsMissingOrEnds) {
  const auto starts = [](const std::string& python) { ChatRenderer(chat_of("a"), {}, python); };
  expect_error<InvalidArgument>([&] { starts("no-such-python"); },
                                "[chat] no program 'no-such-python' in PATH, got 'No such file or directory', expected "
                                "one with Jinja, which runs chat templates: apt install python3-jinja2");
  expect_error<InvalidArgument>([&] { starts("false"); },
                                "[chat] false does not run a chat template, got exit code 1, expected Python with the "
                                "package jinja2");
  const TempDir folder;
  const auto program = [&](const std::string& name, const std::string& text) {
    const std::string path = folder.write(name, Bytes(text.begin(), text.end()));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  expect_error<InvalidArgument>([&] { starts(program("p", "#!/bin/sh\necho one >&2\necho two >&2\nkill -9 $$\n")); },
                                "does not run a chat template, got ended by signal 9 after 'two'");
  // A Python without the package.
  const std::string bare = "#!/bin/sh\nexec python3 -S -I \"$@\"\n";
  if (std::system("python3 -S -I -c 'import jinja2' 2>/dev/null") != 0) {
    expect_error<InvalidArgument>([&] { starts(program("bare", bare)); },
                                  "has no Jinja, got 'No module named 'jinja2'', expected the package jinja2: apt "
                                  "install python3-jinja2");
  }
}

TEST(ChatTemplates, AreFoundInFolders) {
  const TempDir folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    folder.write(name, Bytes(text.begin(), text.end()));
  };
  const std::string path = folder.path().string();
  expect_error<MissingFile>([&] { read_chat_template(path); },
                            "' has no chat template, got neither chat_template.jinja");
  write("tokenizer_config.json",
        R"({"chat_template": "one", "bos_token": {"content": "<s>"}, "eos_token": null, "legacy": false,
            "additional_special_tokens": ["<a>"],
            "added_tokens_decoder": {"7": {"content": "<x>", "lstrip": true}, "5": {"content": "<s>"}}})");
  write("special_tokens_map.json", R"({"bos_token": "<other>", "eos_token": "</s>"})");
  ChatTemplate found = read_chat_template("hf:" + path);
  EXPECT_EQ(found.text, "one");
  EXPECT_EQ(found.tokens, (Tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
  EXPECT_EQ(found.more_tokens, std::vector<std::string>{"<a>"});
  EXPECT_FALSE(found.begins_anew);
  std::map<std::string, int32_t> ids;
  for (const AddedToken& token : found.special) ids[token.text] = token.id;
  EXPECT_EQ(ids, (std::map<std::string, int32_t>{{"<s>", 5}, {"</s>", -1}, {"<a>", -1}, {"<x>", 7}}));
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "tool_use", "template": "two"}, {"name": "default", "template": "three"}]})");
  found = read_chat_template(path);
  EXPECT_EQ(found.text, "three");
  EXPECT_EQ(found.tool_text, "two");
  EXPECT_TRUE(found.begins_anew);
  write("chat_template.jinja", "four");
  EXPECT_EQ(read_chat_template(path).text, "four");
  write("own.jinja", "five");
  found = read_chat_template(path + "/own.jinja");
  EXPECT_EQ(found.text, "five");
  EXPECT_EQ(found.tokens.at("bos_token"), "<other>");
  write("generation_config.json", R"({"eos_token_id": [4, 2]})");
  write("config.json", R"({"eos_token_id": 3})");
  EXPECT_EQ(end_ids_of(path), (std::vector<int32_t>{4, 2, 3}));
}

TEST(ChatTemplates, InDamagedFiles) {
  const TempDir folder;
  const auto refuses = [&](const std::string& name, const std::string& text, const std::string& part) {
    folder.write(name, Bytes(text.begin(), text.end()));
    expect_error<InvalidFile>([&] { read_chat_template(folder.path().string()), end_ids_of(folder.path().string()); },
                              part);
    std::filesystem::remove(folder.path() / name);
  };
  const auto in_config = [&](const std::string& text, const std::string& part) {
    refuses("tokenizer_config.json", text, part);
  };
  in_config("{", "tokenizer_config.json: no JSON, got an error at byte");
  in_config("[]", "tokenizer_config.json: no object, got array, expected a JSON object");
  in_config(R"({"chat_template": 3})", "no 'chat_template', got number, expected a text or a list of named texts");
  in_config(R"({"chat_template": [3]})", "no template in 'chat_template', got number, expected an object with name");
  in_config(R"({"chat_template": [{"name": "x", "template": "y"}]})",
            "no default in 'chat_template', got [x], expected one named 'default'");
  in_config(R"({"chat_template": "a", "bos_token": 3})", "no token 'bos_token', got number, expected a text");
  in_config(R"({"chat_template": "a", "additional_special_tokens": 3})",
            "no 'additional_special_tokens', got number, expected a list");
  in_config(R"({"chat_template": "a", "added_tokens_decoder": 3})",
            "no 'added_tokens_decoder', got number, expected an object");
  in_config(R"({"chat_template": "a", "added_tokens_decoder": {"x": "y"}})",
            "no id in 'added_tokens_decoder', got 'x', expected a number");
  refuses("chat_template.jinja", "a\xff", "chat_template.jinja: no UTF-8, got another byte at 1, expected a template");
  folder.write("chat_template.jinja", Bytes{'a'});
  refuses("config.json", R"({"eos_token_id": "x"})", "no 'eos_token_id', got string, expected an id or a list of ids");
  refuses("generation_config.json", R"({"eos_token_id": [1, -2]})", "no 'eos_token_id', got -2, expected an id");
}

}  // namespace
}  // namespace partita
