#include "zoo/hugging_face/config_json.h"

#include <algorithm>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/text_file.h"

namespace partita {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{16} << 20;
constexpr size_t kMaxShown = 60;
constexpr uint64_t kMaxInteger = uint64_t{1} << 40;

bool is_size(const nlohmann::json& value) {
  return value.is_number_integer() && (value.is_number_unsigned() || value.get<int64_t>() >= 0) &&
         value.get<uint64_t>() <= kMaxInteger;
}

}  // namespace

ConfigJson::ConfigJson(const std::string& path) : path_(path) {
  const std::string text =
      read_text_file(path, {"hugging_face", "a model's configuration", kMaxConfigBytes, /*may_be_pipe=*/false});
  try {
    values_ = parse_bounded_json(text);
  } catch (const BadJson& error) {
    throw InvalidFile("[hugging_face] {}: not a configuration, got {}, expected a JSON object", path, error.what());
  }
  if (!values_.is_object()) {
    throw InvalidFile("[hugging_face] {}: not a configuration, got {}, expected a JSON object", path,
                      values_.type_name());
  }
}

const nlohmann::json* ConfigJson::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigJson::refuse(const std::string& name, const std::string& expected) const {
  const nlohmann::json* value = find(name);
  std::string got = value ? value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : "none";
  if (got.size() > kMaxShown) got = got.substr(0, kMaxShown) + "..";
  throw InvalidFile("[hugging_face] {}: {} cannot be used, got {}, expected {}", path_, name, got, expected);
}

bool ConfigJson::has(const std::string& name) const { return find(name) != nullptr; }

int64_t ConfigJson::integer(const std::string& name) const {
  const nlohmann::json* value = find(name);
  if (!value || !is_size(*value)) refuse(name, "a whole number");
  return value->get<int64_t>();
}

int64_t ConfigJson::integer(const std::string& name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

double ConfigJson::number(const std::string& name, double otherwise) const {
  const nlohmann::json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_number()) refuse(name, "a number");
  return value->get<double>();
}

bool ConfigJson::flag(const std::string& name, bool otherwise) const {
  const nlohmann::json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_boolean()) refuse(name, "true or false");
  return value->get<bool>();
}

std::string ConfigJson::text(const std::string& name, const std::string& otherwise) const {
  const nlohmann::json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_string()) refuse(name, "a text");
  return value->get<std::string>();
}

std::string ConfigJson::one_of(const std::string& name, const std::vector<std::string>& values,
                               const std::string& otherwise) const {
  const std::string value = text(name, otherwise);
  if (std::ranges::find(values, value) == values.end()) {
    refuse(name, fmt::format("one of [{}]", fmt::join(values, ", ")));
  }
  return value;
}

std::vector<int64_t> ConfigJson::integers(const std::string& name) const {
  const nlohmann::json* value = find(name);
  if (!value || !value->is_array()) refuse(name, "a list of whole numbers");
  std::vector<int64_t> numbers;
  for (const nlohmann::json& one : *value) {
    if (!is_size(one)) refuse(name, "a list of whole numbers");
    numbers.push_back(one.get<int64_t>());
  }
  return numbers;
}

ConfigJson ConfigJson::object(const std::string& name) const {
  const nlohmann::json* value = find(name);
  if (value && !value->is_object()) refuse(name, "an object");
  return ConfigJson(path_ + ": " + name, value ? *value : nlohmann::json::object());
}

void ConfigJson::require(const std::string& name, const std::string& value) const {
  if (text(name, value) != value) refuse(name, "\"" + value + "\"");
}

void ConfigJson::require_number(const std::string& name, double value) const {
  if (number(name, value) != value) refuse(name, fmt::format("{}", value));
}

void ConfigJson::require_flag(const std::string& name, bool value) const {
  if (flag(name, value) != value) refuse(name, value ? "true" : "false");
}

}  // namespace partita
