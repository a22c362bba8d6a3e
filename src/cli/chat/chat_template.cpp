#include "cli/chat/chat_template.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/is_folder.h"
#include "base/text_file.h"
#include "cli/tokenizers/unicode_text.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

using ChatJson = nlohmann::json;

constexpr int64_t kMaxFolderFile = int64_t{16} << 20;
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kTemplateFile = "chat_template.jinja";

bool is_there(const std::string& path) {
  std::error_code failure;
  return std::filesystem::exists(path, failure);
}

std::string read_folder_text(const std::string& path, std::string_view purpose) {
  return read_text_file(path, {"chat", purpose, kMaxFolderFile, /*may_be_pipe=*/false});
}

/// A JSON object in a file of a folder. Functions throw InvalidFile for values of another kind.
class FolderJson {
 public:
  /// Reads a file; an empty object if it is not there. Throws InvalidFile if it is no JSON object.
  explicit FolderJson(std::string path) : path_(std::move(path)), values_(ChatJson::object()) {
    if (!is_there(path_)) return;
    try {
      values_ = parse_bounded_json(read_folder_text(path_, "a JSON object"));
    } catch (const BadJson& error) {
      throw InvalidFile("[chat] {}: no JSON, got {}, expected a JSON object", path_, error.what());
    }
    if (!values_.is_object()) refuse("no object", values_.type_name(), "a JSON object");
  }

  const std::string& path() const { return path_; }
  /// Returns a value; null if it is not there.
  const ChatJson& at(const std::string& name) const {
    static const ChatJson kNull;
    const auto found = values_.find(name);
    return found == values_.end() ? kNull : *found;
  }
  [[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) const {
    throw InvalidFile("[chat] {}: {}, got {}, expected {}", path_, what, got, expected);
  }

 private:
  std::string path_;
  ChatJson values_;
};

/// Returns the text of a special token, which is a string or an object with one; "" if it is null.
std::string text_of_token(const FolderJson& file, const std::string& name, const ChatJson& value) {
  if (value.is_null()) return "";
  const auto content = value.is_object() ? value.find("content") : value.end();
  const bool has_content = value.is_object() && content != value.end();
  const ChatJson& text = has_content ? *content : value;
  if (!text.is_string()) file.refuse(fmt::format("no token '{}'", name), text.type_name(), "a text");
  return text.get<std::string>();
}

/// Takes the special tokens of a file that were not found before.
void add_tokens(const FolderJson& file, ChatTemplate& found) {
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const std::string text = text_of_token(file, name, file.at(name));
    if (!text.empty()) found.tokens.emplace(name, text);
  }
  constexpr const char* kMore = "additional_special_tokens";
  const ChatJson& more = file.at(kMore);
  if (more.is_null() || !found.more_tokens.empty()) return;
  if (!more.is_array()) file.refuse(fmt::format("no '{}'", kMore), more.type_name(), "a list");
  for (const ChatJson& one : more) {
    const std::string text = text_of_token(file, kMore, one);
    if (!text.empty()) found.more_tokens.push_back(text);
  }
}

/// Collects the special tokens with their ids, where "added_tokens_decoder" has these.
void add_special(const FolderJson& config, ChatTemplate& found) {
  const ChatJson& added = config.at("added_tokens_decoder");
  std::map<std::string, AddedToken> all;
  const auto add_text = [&](const std::string& text) { all.emplace(text, AddedToken{.text = text, .id = -1}); };
  if (!added.is_null() && !added.is_object())
    config.refuse("no 'added_tokens_decoder'", added.type_name(), "an object");
  for (const auto& [key, value] : added.items()) {
    int32_t id = -1;
    const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (failure != std::errc() || end != key.data() + key.size() || id < 0) {
      config.refuse("no id in 'added_tokens_decoder'", fmt::format("'{}'", key), "a number");
    }
    const auto is_set = [&, &value = value](const char* name) {
      const auto flag = value.is_object() ? value.find(name) : value.end();
      return value.is_object() && flag != value.end() && flag->is_boolean() && flag->template get<bool>();
    };
    const std::string text = text_of_token(config, key, value);
    if (!text.empty())
      all[text] = {.text = text, .id = id, .takes_left = is_set("lstrip"), .takes_right = is_set("rstrip")};
  }
  for (const auto& [name, text] : found.tokens) add_text(text);
  for (const std::string& text : found.more_tokens) add_text(text);
  for (const auto& [text, token] : all) found.special.push_back(token);
}

/// Takes the templates of tokenizer_config.json. Throws InvalidFile if it has others than are read.
void take_templates(const FolderJson& config, ChatTemplate& found) {
  const ChatJson& given = config.at("chat_template");
  if (given.is_string()) found.text = given.get<std::string>();
  if (given.is_null() || given.is_string()) return;
  if (!given.is_array()) config.refuse("no 'chat_template'", given.type_name(), "a text or a list of named texts");
  std::vector<std::string> names;
  for (const ChatJson& one : given) {
    const bool is_named = one.is_object() && one.contains("name") && one["name"].is_string() &&
                          one.contains("template") && one["template"].is_string();
    if (!is_named) config.refuse("no template in 'chat_template'", one.type_name(), "an object with name and template");
    names.push_back(one["name"].get<std::string>());
    const auto text = one["template"].get<std::string>();
    if (names.back() == "default") found.text = text;
    if (names.back() == "tool_use") found.tool_text = text;
  }
  if (!found.text.empty()) return;
  config.refuse("no default in 'chat_template'", fmt::format("[{}]", fmt::join(names, ", ")), "one named 'default'");
}

}  // namespace

ChatTemplate read_chat_template(const std::string& path) {
  const std::string named = hugging_face_folder(path);
  const bool is_file = is_there(named) && !is_folder(named);
  std::filesystem::path parent = std::filesystem::path(named).parent_path();
  const std::string folder = !is_file ? named : parent.empty() ? "." : parent.string();
  const FolderJson config(folder + "/" + kTokenizerConfig), map(folder + "/special_tokens_map.json");
  ChatTemplate found{.where = is_file ? named : folder + "/" + kTemplateFile};
  if (is_there(found.where)) {
    found.text = read_folder_text(found.where, "a chat template");
    if (const std::optional<size_t> at = find_invalid_utf8(found.text)) {
      throw InvalidFile("[chat] {}: no UTF-8, got another byte at {}, expected a template", found.where, *at);
    }
  } else {
    found.where = config.path();
    take_templates(config, found);
  }
  if (found.text.empty()) {
    throw MissingFile(
        "[chat] '{}' has no chat template, got neither {} nor one in {}, expected one, or --chat-template PATH of "
        "another one",
        named, kTemplateFile, kTokenizerConfig);
  }
  add_tokens(config, found);
  add_tokens(map, found);
  add_special(config, found);
  const ChatJson& legacy = config.at("legacy");
  found.begins_anew = !legacy.is_boolean() || legacy.get<bool>();
  return found;
}

std::vector<int32_t> end_ids_of(const std::string& folder) {
  std::vector<int32_t> ids;
  for (const char* name : {"generation_config.json", "config.json"}) {
    const FolderJson file(folder + "/" + name);
    const ChatJson& given = file.at("eos_token_id");
    const auto add = [&](const ChatJson& id) {
      if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > std::numeric_limits<int32_t>::max()) {
        file.refuse("no 'eos_token_id'", id.is_number() ? id.dump() : id.type_name(), "an id or a list of ids");
      }
      ids.push_back(id.get<int32_t>());
    };
    if (given.is_array()) {
      for (const ChatJson& id : given) add(id);
    } else if (!given.is_null()) {
      add(given);
    }
  }
  return ids;
}

}  // namespace partita
