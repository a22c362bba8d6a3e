#include "job/toml.h"

#include "base/plain_numbers.h"
#include "base/text_file.h"
#include "base/toml_keys.h"
#include "base/toml_kind.h"
#include "base/toml_string.h"

namespace partita {
namespace {

constexpr TextFile kConfiguration{
    .where = "configuration", .purpose = "a configuration", .max_bytes = int64_t{1} << 20};
constexpr std::string_view kHeader = "# partita job 1\n";

/// Whether the text, which is a number, fits a TOML integer or float. Seeds of 64 bits may not, and are written as
/// strings.
bool is_toml_number(const std::string& text) {
  return text.find_first_not_of("0123456789") != std::string::npos || text.size() < 19;
}

std::string print_value(const JobOption& option, const std::vector<std::string>& texts) {
  switch (option.form) {
    case JobOption::Form::boolean: return texts[0];
    case JobOption::Form::number: return is_toml_number(texts[0]) ? texts[0] : toml_string(texts[0]);
    case JobOption::Form::text: return toml_string(texts[0]);
    case JobOption::Form::list: break;
  }
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(toml_string(text));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  std::vector<Assignment> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const toml::table* section = node.as_table();
      if (section == nullptr) {
        take(name, node);
        continue;
      }
      for (const auto& [inner, value] : *section) take(fmt::format("{}.{}", name, inner.str()), value);
    }
    return std::move(assignments_);
  }

 private:
  void take(const std::string& key, const toml::node& node) {
    const auto line = node.source().begin.line;
    const std::string where = fmt::format("{}:{}: {}", path_, line, key);
    try {
      assignments_.push_back({&find_option(key), where, texts_of(node, where)});
    } catch (const InvalidArgument& error) {
      throw InvalidFile("{} (in {}:{})", error.what(), path_, line);
    }
  }

  std::vector<std::string> texts_of(const toml::node& node, const std::string& where) const {
    if (const toml::array* array = node.as_array()) {
      std::vector<std::string> texts;
      for (const toml::node& item : *array) texts.push_back(text_of(item, where));
      return texts;
    }
    return {text_of(node, where)};
  }

  static std::string text_of(const toml::node& node, const std::string& where) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    throw InvalidFile("[{}] bad kind of value, got {}, expected a text, a number, true or false", where, kind_of(node));
  }

  std::string path_;
  std::vector<Assignment> assignments_;
};

std::string print_options(const JobConfig& config, const std::function<bool(const JobOption&)>& takes) {
  std::string text(kHeader);
  OptionSection section = OptionSection::job;
  for (const JobOption& option : job_options()) {
    const std::vector<std::string> texts = option.get(config);
    if (texts.empty() || !takes(option)) continue;
    if (option.section != section) text += fmt::format("\n[{}]\n", name_of(section = option.section));
    text += fmt::format("{} = {}\n", option.name, print_value(option, texts));
  }
  return text;
}

}  // namespace

std::string print(const JobConfig& config) {
  return print_options(config, [](const JobOption&) { return true; });
}

std::string print_computation(const JobConfig& config) {
  return print_options(config, [](const JobOption& option) {
    return option.effect != Effect::files && option.effect != Effect::console;
  });
}

std::vector<Assignment> parse_config(std::string_view text, const std::string& path) {
  if (const auto line = line_of_deep_key(text)) {
    throw InvalidFile("[configuration] {}:{}: a key is nested too deeply, got more than {} parts, expected section.key",
                      path, *line, kMaxTomlKeyParts);
  }
  const PlainNumbers plain;
  try {
    return Reader(path).read(toml::parse(text, path));
  } catch (const toml::parse_error& error) {
    throw InvalidFile("[configuration] {}:{}: not TOML, got '{}', expected key = value or [section]", path,
                      error.source().begin.line, error.description());
  }
}

std::vector<Assignment> read_config(const std::string& path) {
  return parse_config(read_text_file(path, kConfiguration), path);
}

}  // namespace partita
