// Reads the file tokenizer.json of Hugging Face's library tokenizers, as far as it is byte-level BPE.

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/bounded_json.h"
#include "base/error.h"
#include "cli/tokenizers/added_tokens.h"
#include "cli/tokenizers/byte_pairs.h"
#include "cli/tokenizers/split_pattern.h"
#include "cli/tokenizers/tokenizer.h"
#include "cli/tokenizers/unicode_text.h"

namespace partita {
namespace {

using Json = nlohmann::json;

// "'s", "'t" and the like; words, numbers and signs with a space before them; white space.
constexpr const char* kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A step that splits a part of a text.
struct SplitStep {
  std::shared_ptr<const SplitPattern> pattern = nullptr;
  bool keeps_matches = true, keeps_gaps = true;
  bool adds_space = false;  // before each part, which is then split
};

/// The parts of the file.
struct JsonTokenizerParts {
  std::vector<UnicodeForm> forms{};
  std::vector<SplitStep> steps{};
  AddedTokens raw{}, normalized{};  // found before and after normalization
  std::unordered_set<int32_t> added{};
  ByteVocabulary vocabulary{};
  std::unordered_map<std::string, int32_t> ids{};
  std::unordered_map<int32_t, std::string> texts{};  // by id, in bytes
  int64_t count = 0;
};

std::string in_form(std::string_view text, const std::vector<UnicodeForm>& forms) {
  std::string result(text);
  for (const UnicodeForm form : forms) result = normalized(result, form);
  return result;
}

class JsonTokenizer : public Tokenizer {
 public:
  explicit JsonTokenizer(JsonTokenizerParts parts) : parts_(std::move(parts)), pairs_(std::move(parts_.vocabulary)) {}

  void encode(std::string_view text, std::vector<int32_t>& ids) override {
    const auto take = [&](int32_t id) {
      ids.push_back(id);
      is_continued_ = false;
    };
    parts_.raw.split(
        text,
        [&](std::string_view rest) {
          const std::string form = parts_.forms.empty() ? std::string() : in_form(rest, parts_.forms);
          parts_.normalized.split(
              parts_.forms.empty() ? rest : form, [&](std::string_view words) { split(words, 0, ids); }, take);
        },
        take);
    is_continued_ = false;
  }
  void encode_continued(std::string_view text, std::vector<int32_t>& ids) override {
    is_continued_ = ids.empty() || !parts_.added.contains(ids.back());
    encode(text, ids);
  }
  bool finds_special_tokens() const override { return true; }
  std::string decode(const std::vector<int32_t>& ids) const override {
    std::string text;
    for (const int32_t id : ids) {
      const auto found = parts_.texts.find(id);
      if (found != parts_.texts.end()) text += found->second;
    }
    return text;
  }
  int64_t vocabulary() const override { return parts_.count; }
  std::optional<int32_t> id_of(const std::string& token) const override {
    const auto found = parts_.ids.find(token);
    return found == parts_.ids.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  /// Applies the steps from `step` on to a part of a text, which is not empty, and encodes the words.
  void split(std::string_view text, size_t step, std::vector<int32_t>& ids) {
    if (step == parts_.steps.size()) return pairs_.encode(text, ids);
    const SplitStep& now = parts_.steps[step];
    std::string longer;
    const bool adds_space = now.adds_space && !std::exchange(is_continued_, false);
    if (adds_space && !text.starts_with(' ')) text = longer = fmt::format(" {}", text);
    if (now.pattern == nullptr) return split(text, step + 1, ids);
    size_t done = 0;
    now.pattern->for_each(text, [&](size_t begin, size_t end) {
      if (begin > done && now.keeps_gaps) split(text.substr(done, begin - done), step + 1, ids);
      if (now.keeps_matches) split(text.substr(begin, end - begin), step + 1, ids);
      done = end;
    });
    if (done < text.size() && now.keeps_gaps) split(text.substr(done), step + 1, ids);
  }

  JsonTokenizerParts parts_;
  BytePairs pairs_;
  bool is_continued_ = false;  // whether the next part goes on with another text
};

/// Reads the parts of one file. Its functions throw InvalidFile, naming the file.
class JsonTokenizerReader {
 public:
  explicit JsonTokenizerReader(const std::string& where) : where_(where) {}

  JsonTokenizerParts read(const Json& file) {
    if (!file.is_object()) refuse("not a tokenizer", file.type_name(), "an object");
    read_normalizer(member(file, "normalizer"));
    read_pre_tokenizer(member(file, "pre_tokenizer"));
    read_model(member(file, "model"));
    read_added(member(file, "added_tokens"));
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what, const std::string& got, std::string_view expected) const {
    throw InvalidFile("[tokenizer] '{}': {}, got {}, expected {}", where_, what, got, expected);
  }

  static const Json& member(const Json& object, const char* name) {
    static const Json kNull;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : kNull;
  }

  bool flag(const Json& object, const char* name, bool usual) const {
    const Json& value = member(object, name);
    if (value.is_null()) return usual;
    if (!value.is_boolean()) refuse(fmt::format("'{}' is no bool", name), value.type_name(), "true or false");
    return value.get<bool>();
  }

  std::string text(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    if (!value.is_string()) refuse(fmt::format("no text '{}'", name), value.type_name(), "a string");
    return value.get<std::string>();
  }

  int32_t id(const Json& value) const {
    constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - 1;
    if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kMaxId) {
      refuse("wrong id", value.is_number() ? value.dump() : std::string(value.type_name()),
             fmt::format("0 to {}", kMaxId));
    }
    return value.get<int32_t>();
  }

  void read_normalizer(const Json& part) {
    if (part.is_null()) return;
    const std::string type = text(part, "type");
    if (type == "Sequence") {
      for (const Json& one : list(part, "normalizers")) read_normalizer(one);
      return;
    }
    for (const UnicodeForm form : {UnicodeForm::NFC, UnicodeForm::NFD, UnicodeForm::NFKC, UnicodeForm::NFKD}) {
      if (type == name_of(form)) return parts_.forms.push_back(form);
    }
    refuse("normalizer not supported", type, "NFC, NFD, NFKC, NFKD or none");
  }

  const Json& list(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    if (!value.is_array()) refuse(fmt::format("no list '{}'", name), value.type_name(), "a list");
    return value;
  }

  void read_pre_tokenizer(const Json& part) {
    add_steps(part);
    if (!is_byte_level_) refuse("the tokenizer is not byte-level", "no ByteLevel", "one as of GPT-2, Llama 3 or Qwen");
  }

  void add_steps(const Json& part) {
    if (part.is_null()) return;
    const std::string type = text(part, "type");
    if (type == "Sequence") {
      for (const Json& one : list(part, "pretokenizers")) add_steps(one);
      return;
    }
    if (is_byte_level_) refuse("a step after ByteLevel", type, "ByteLevel as the last one");
    if (type == "ByteLevel") {
      is_byte_level_ = true;
      SplitStep step{.adds_space = flag(part, "add_prefix_space", true)};
      if (flag(part, "use_regex", true)) step.pattern = pattern(kGpt2Words);
      parts_.steps.push_back(std::move(step));
    } else if (type == "Split") {
      parts_.steps.push_back(split_step(part));
    } else if (type == "Digits") {
      parts_.steps.push_back({.pattern = pattern(flag(part, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)")});
    } else {
      refuse("pre-tokenizer not supported", type, "ByteLevel, Split, Digits or Sequence");
    }
  }

  SplitStep split_step(const Json& part) const {
    const Json& given = member(part, "pattern");
    const bool is_regex = !member(given, "Regex").is_null();
    const std::string expression = is_regex ? text(given, "Regex") : escaped_expression(text(given, "String"));
    SplitStep step{.pattern = pattern(expression)};
    const std::string behavior = text(part, "behavior");
    if (behavior == "Removed") {
      (flag(part, "invert", false) ? step.keeps_gaps : step.keeps_matches) = false;
    } else if (behavior != "Isolated") {
      refuse("behavior of a split not supported", behavior, "Isolated or Removed");
    }
    return step;
  }

  std::shared_ptr<const SplitPattern> pattern(const std::string& expression) const {
    try {
      return std::make_shared<const SplitPattern>(expression);
    } catch (const InvalidArgument& error) {
      throw InvalidFile("{} (in {})", error.what(), where_);
    }
  }

  void read_model(const Json& model) {
    if (!model.is_object()) refuse("no model", model.type_name(), "a model of type BPE");
    const Json& type = member(model, "type");
    if (type.is_string() && type != "BPE") refuse("model not supported", type.get<std::string>(), "BPE");
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = member(model, name);
      if (value.is_string() && !value.get<std::string>().empty()) {
        refuse(fmt::format("'{}' not supported", name), value.get<std::string>(), "none");
      }
    }
    if (flag(model, "byte_fallback", false)) refuse("byte_fallback not supported", "true", "false");
    const Json& vocabulary = member(model, "vocab");
    if (!vocabulary.is_object()) refuse("no vocabulary", vocabulary.type_name(), "an object of ids");
    std::string written;
    for (const auto& [token, value] : vocabulary.items()) {
      add_id(token, id(value));
      parts_.texts[id(value)] = bytes_of_token(token, written) ? written : token;
    }
    for (int byte = 0; byte < 256; ++byte) {
      const std::string token = character_of(static_cast<uint8_t>(byte));
      parts_.vocabulary.byte_ids[static_cast<size_t>(byte)] = id_of_part(token, "a byte");
    }
    read_merges(list(model, "merges"));
    if (!flag(model, "ignore_merges", false)) return;
    std::string bytes;
    for (const auto& [token, one] : parts_.ids) {
      if (bytes_of_token(token, bytes)) parts_.vocabulary.whole_words.emplace(bytes, one);
    }
  }

  void add_id(const std::string& token, int32_t id) {
    parts_.ids[token] = id;
    parts_.count = std::max(parts_.count, int64_t{id} + 1);
  }

  int32_t id_of_part(const std::string& token, std::string_view what) const {
    const auto found = parts_.ids.find(token);
    if (found == parts_.ids.end())
      refuse(fmt::format("{} is not in the vocabulary", what), fmt::format("'{}'", token), "it");
    return found->second;
  }

  void read_merges(const Json& merges) {
    uint32_t rank = 0;
    for (const Json& one : merges) {
      std::string left, right;
      if (one.is_string()) {
        const std::string pair = one.get<std::string>();
        const size_t space = pair.find(' ');
        if (space == std::string::npos) refuse("wrong merge", fmt::format("'{}'", pair), "two tokens");
        left = pair.substr(0, space), right = pair.substr(space + 1);
      } else if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string()) {
        left = one[0].get<std::string>(), right = one[1].get<std::string>();
      } else {
        refuse("wrong merge", fmt::format("{} as number {}", one.type_name(), rank), "two tokens");
      }
      const uint64_t key =
          ByteVocabulary::key(id_of_part(left, "a part of a merge"), id_of_part(right, "a part of a merge"));
      parts_.vocabulary.merges[key] = {rank++, id_of_part(left + right, "a merge")};
    }
  }

  void read_added(const Json& added) {
    if (added.is_null()) return;
    if (!added.is_array()) refuse("no list 'added_tokens'", added.type_name(), "a list");
    for (const Json& one : added) {
      AddedToken token{.text = text(one, "content"),
                       .id = id(member(one, "id")),
                       .takes_left = flag(one, "lstrip", false),
                       .takes_right = flag(one, "rstrip", false)};
      if (token.text.empty()) continue;
      if (flag(one, "single_word", false)) refuse("single_word not supported", "true", "false");
      add_id(token.text, token.id);
      parts_.texts[token.id] = token.text;
      parts_.added.insert(token.id);
      const bool is_normalized = flag(one, "normalized", true);
      if (is_normalized) token.text = in_form(token.text, parts_.forms);
      (is_normalized ? parts_.normalized : parts_.raw).add(std::move(token));
    }
  }

  std::string where_;
  JsonTokenizerParts parts_;
  bool is_byte_level_ = false;
};

}  // namespace

std::unique_ptr<Tokenizer> parse_json_tokenizer(std::string_view json, const std::string& where) {
  constexpr int64_t kMaxTokens = int64_t{1} << 22;
  try {
    const Json file = parse_bounded_json(json, 4 * kMaxTokens, kMaxTokens);
    return std::make_unique<JsonTokenizer>(JsonTokenizerReader(where).read(file));
  } catch (const BadJson& error) {
    throw InvalidFile("[tokenizer] '{}': no JSON, got {}, expected a tokenizer.json", where, error.what());
  }
}

}  // namespace partita
