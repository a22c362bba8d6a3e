#include "planner/cluster/toml.h"

#include <algorithm>
#include <cmath>

#include "base/plain_numbers.h"
#include "base/plain_text.h"
#include "base/text_file.h"
#include "base/toml_keys.h"
#include "base/toml_kind.h"
#include "base/toml_string.h"
#include "planner/cluster/cluster_fields.h"

namespace partita {
namespace {

constexpr TextFile kClusterFile{.where = "cluster", .purpose = "a cluster", .max_bytes = int64_t{1} << 20};
constexpr std::string_view kClusterHeader = "# partita cluster 1: bytes, seconds, bytes/s, flop/s\n";

/// A number that reads back exactly: as 0.5 or 64000 from 1e-3 to below 1e6, else in engineering notation, such as 24e9
/// or 14e-6, where that is exact.
std::string toml_number(double value) {
  if (std::abs(value) >= 1e-3 && std::abs(value) < 1e6) return fmt::format("{}", value);
  for (int exponent = 21; value != 0 && exponent >= -15; exponent -= 3) {
    const double shifted = value / std::pow(10, exponent);
    if (std::abs(shifted) < 1 - 1e-12) continue;
    const std::string text = fmt::format("{:.12g}e{}", shifted, exponent);
    if (parse_number<double>(text) == value) return text;
  }
  return fmt::format("{}", value);
}

class ClusterPrinter {
 public:
  std::string result{kClusterHeader};
  std::map<std::string, std::string, std::less<>> values;  // by key, such as "level[0].bandwidth"

  void number(std::string_view name, double value, const NumberRange&) {
    if (value != 0) line(name, toml_number(value));
  }
  void whole(std::string_view name, int64_t value, int64_t, int64_t) {
    if (value != 0) line(name, fmt::format("{}", value));
  }
  void flag(std::string_view name, bool value, bool otherwise = false) {
    if (value != otherwise) line(name, value ? "true" : "false");
  }
  void text(std::string_view name, const std::string& value) { line(name, toml_string(value)); }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    std::vector<std::string> texts;
    for (const std::string& value : values) texts.push_back(toml_string(value));
    line(name, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  void numbers(std::string_view name, const std::vector<double>& values, const NumberRange&) {
    if (values.empty()) return;
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(toml_number(value));
    line(name, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  template <Named Enum>
  void choices(std::string_view name, const std::vector<Enum>& values) {
    std::vector<std::string> texts;
    for (const Enum value : values) texts.push_back(toml_string(name_of(value)));
    line(name, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  void curve(std::string_view name, const Curve& curve) {
    if (curve.empty()) return;
    std::vector<std::string> points;
    for (const CurvePoint& point : curve)
      points.push_back(fmt::format("[{}, {}]", toml_number(point.size), toml_number(point.share)));
    line(name, fmt::format("[{}]", fmt::join(points, ", ")));
  }
  void calls(std::string_view name, const std::vector<MeasuredCall>& calls) {
    std::string text;
    for (const MeasuredCall& call : calls) {
      std::vector<std::string> numbers;
      for (const double* number : numbers_of(call)) numbers.push_back(toml_number(*number));
      text += fmt::format("  [{}],\n", fmt::join(numbers, ", "));
    }
    line(name, fmt::format("[\n{}]", text));
  }
  template <class Fields>
  void table(std::string_view name, const Fields& fields) {
    inside(name, "[{}]", fields);
  }
  template <class Map, class Fields>
  void named(std::string_view name, const Map& map, const Fields& fields) {
    if (map.empty()) return;
    inside(name, "[{}]", [&] {
      for (const auto& [key, value] : map) fields(name_of(key), value);
    });
  }
  template <class List, class Fields>
  void tables(std::string_view name, const List& list, const Fields& fields) {
    for (size_t i = 0; const auto& item : list) {
      item_ = fmt::format("[{}]", i++);
      inside(name, "[[{}]]", [&] { fields(item); });
    }
  }

 private:
  void line(std::string_view name, std::string_view value) {
    result += fmt::format("{} = {}\n", name, value);
    values[key_ + std::string(name)] = value;
  }

  template <class Fields>
  void inside(std::string_view name, std::string_view heading, const Fields& fields) {
    const std::string outer = path_, outer_key = key_;
    key_ += fmt::format("{}{}.", name, std::exchange(item_, ""));
    path_ += fmt::format("{}{}", path_.empty() ? "" : ".", name);
    result += '\n' + fmt::format(fmt::runtime(heading), path_) + '\n';
    fields();
    path_ = outer, key_ = outer_key;
  }

  std::string path_, key_;
  std::string item_;  // "[0]": index of the next table if it is one of a list
};

class ClusterReader {
 public:
  ClusterReader(const toml::table& table, std::string path) : here_(&table), file_(std::move(path)) {}

  Cluster read() {
    Cluster cluster;
    inside("", *here_, [&] { visit_fields(cluster, *this); });
    if (const auto fault = first_fault(cluster)) {
      const bool missing = !lines_.contains(fault->key);
      fail(fault->key, missing ? "missing" : fault->what, missing ? "nothing" : fault->got, fault->expected);
    }
    for (size_t i = 0; i < cluster.fitted.size(); ++i) {
      if (lines_.contains(cluster.fitted[i])) continue;
      fail(fmt::format("fitted[{}]", i), "unknown key", fmt::format("'{}'", cluster.fitted[i]), "a key of this file");
    }
    return cluster;
  }

  void number(std::string_view name, double& value, const NumberRange&) {
    if (const toml::node* node = find(name)) value = number_of(*node, name);
  }
  void whole(std::string_view name, int64_t& value, int64_t least, int64_t most) {
    const toml::node* node = find(name);
    if (node == nullptr) return;
    if (!node->is_integer()) refuse(*node, name, fmt::format("{} to {}", least, most));
    value = node->as_integer()->get();
  }
  void flag(std::string_view name, bool& value, bool otherwise = false) {
    const toml::node* node = find(name);
    if (node == nullptr) {
      value = otherwise;
      return;
    }
    if (!node->is_boolean()) refuse(*node, name, "true or false");
    value = node->as_boolean()->get();
  }
  void text(std::string_view name, std::string& value) {
    const toml::node* node = find(name);
    if (node == nullptr) return;
    if (!node->is_string()) refuse(*node, name, "a text");
    value = node->as_string()->get();
  }
  void numbers(std::string_view name, std::vector<double>& values, const NumberRange&) {
    for_items(name, "a list of numbers",
              [&](const toml::node& item, const std::string& key) { values.push_back(number_of(item, key)); });
  }
  void texts(std::string_view name, std::vector<std::string>& values) {
    for_items(name, "a list of texts", [&](const toml::node& item, const std::string& key) {
      if (!item.is_string()) refuse(item, key, "a text");
      values.push_back(item.as_string()->get());
    });
  }
  template <Named Enum>
  void choices(std::string_view name, std::vector<Enum>& values) {
    values.clear();
    for_items(name, "a list of names", [&](const toml::node& item, const std::string& key) {
      if (!item.is_string()) refuse(item, key, "a name");
      values.push_back(enum_of<Enum>(key, item.as_string()->get(), "unknown name"));
    });
  }
  void curve(std::string_view name, Curve& curve) {
    for_items(name, "a list of [size, share]", [&](const toml::node& item, const std::string& key) {
      const toml::array* pair = item.as_array();
      if (pair == nullptr || pair->size() != 2) refuse(item, key, "[size, share]");
      curve.push_back({number_of((*pair)[0], key), number_of((*pair)[1], key)});
    });
  }
  void calls(std::string_view name, std::vector<MeasuredCall>& calls) {
    constexpr std::string_view kExpected = "[flops, bytes, batch, rows, columns, depth, share]";
    for_items(name, fmt::format("a list of {}", kExpected), [&](const toml::node& item, const std::string& key) {
      const toml::array* list = item.as_array();
      MeasuredCall call;
      const auto numbers = numbers_of(call);
      if (list == nullptr || list->size() != numbers.size()) refuse(item, key, kExpected);
      for (size_t i = 0; i < numbers.size(); ++i) *numbers[i] = number_of((*list)[i], key);
      calls.push_back(call);
    });
  }
  template <class Fields>
  void table(std::string_view name, const Fields& fields) {
    if (const toml::node* node = find(name)) inside(name, table_of(*node, name), fields);
  }
  template <class Value, class Fields>
  void named(std::string_view name, std::map<std::string, Value, std::less<>>& map, const Fields& fields) {
    table(name, [&] {
      for (const auto& [key, node] : *here_) fields(key.str(), map[std::string(key.str())]);
    });
  }
  template <class Enum, class Value, class Fields>
  void named(std::string_view name, std::map<Enum, Value>& map, const Fields& fields) {
    table(name, [&] {
      for (const auto& [key, node] : *here_) {
        lines_[path_ + std::string(key.str())] = node.source().begin.line;
        const Enum value = enum_of<Enum>(key.str(), key.str(), "unknown key");
        fields(name_of(value), map[value]);
      }
    });
  }
  template <class Item, class Fields>
  void tables(std::string_view name, std::vector<Item>& list, const Fields& fields) {
    for_items(name, "tables", [&](const toml::node& item, const std::string& key) {
      list.emplace_back();
      inside(key, table_of(item, key), [&] { fields(list.back()); });
    });
  }

 private:
  using Line = toml::source_index;

  [[noreturn]] void fail(const std::string& key, std::string_view what, std::string_view got,
                         std::string_view expected) const {
    throw InvalidFile("[cluster] {}:{}: {}: {}, got {}, expected {}", file_, line_of(key), key, what, got, expected);
  }
  [[noreturn]] void refuse(const toml::node& node, std::string_view name, std::string_view expected) const {
    fail(path_ + std::string(name), "bad kind of value", kind_of(node), expected);
  }

  /// The line of a key or, if it is missing, of the innermost table around it; 1 if there is none.
  Line line_of(std::string key) const {
    for (;; key.resize(key.find_last_of(".["))) {
      if (const auto found = lines_.find(key); found != lines_.end()) return found->second;
      if (key.find_last_of(".[") == std::string::npos) return 1;
    }
  }

  /// Returns the value of a key of the table that is read (`inside`); null if it is missing. Registers the key as known
  /// and, if it is there, its line.
  const toml::node* find(std::string_view name) {
    known_.emplace_back(name);
    const toml::node* node = here_->get(name);
    if (node != nullptr) lines_[path_ + std::string(name)] = node->source().begin.line;
    return node;
  }

  double number_of(const toml::node& node, std::string_view name) const {
    if (const auto* number = node.as_integer()) return static_cast<double>(number->get());
    if (!node.is_floating_point()) refuse(node, name, "a number");
    return node.as_floating_point()->get() + 0.0;  // -0 is printed as the integer 0
  }

  const toml::table& table_of(const toml::node& node, std::string_view name) const {
    if (!node.is_table()) refuse(node, name, "a table");
    return *node.as_table();
  }

  template <class Enum>
  Enum enum_of(std::string_view key, std::string_view name, std::string_view what) const {
    std::vector<std::string> names;
    if constexpr (std::is_same_v<Enum, DType>) {
      if (const auto dtype = parse_dtype(name)) return *dtype;
      for (const DType dtype : kAllDTypes) names.emplace_back(name_of(dtype));
    } else {
      names = names_of<Enum>();
      const auto found = std::ranges::find(names, name);
      if (found != names.end()) return static_cast<Enum>(found - names.begin());
    }
    unknown(key, name, what, names);
  }

  [[noreturn]] void unknown(std::string_view key, std::string_view name, std::string_view what,
                            const std::vector<std::string>& names) const {
    fail(path_ + std::string(key), what, fmt::format("'{}'", name),
         fmt::format("one of {}{}", fmt::join(names, " "), did_you_mean(name, names)));
  }

  template <class Each>
  void for_items(std::string_view name, std::string_view expected, const Each& each) {
    const toml::node* node = find(name);
    if (node == nullptr) return;
    if (!node->is_array()) refuse(*node, name, expected);
    for (size_t i = 0; const toml::node& item : *node->as_array()) {
      const std::string key = fmt::format("{}[{}]", name, i++);
      lines_[path_ + key] = item.source().begin.line;
      each(item, key);
    }
  }

  /// Calls `fields`, which reads the fields of `table`; `name` is the key of the table, "" for the whole file. Throws
  /// InvalidFile if the table has a key for which `fields` did not look, and what `fields` throws.
  template <class Fields>
  void inside(std::string_view name, const toml::table& table, const Fields& fields) {
    const std::string outer = path_;
    const toml::table* around = std::exchange(here_, &table);
    std::vector<std::string> known = std::exchange(known_, {});
    if (!name.empty()) path_ += fmt::format("{}.", name);
    fields();
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known_, key.str()) != known_.end()) continue;
      if (lines_.contains(path_ + std::string(key.str()))) continue;  // a key that is itself data
      lines_[path_ + std::string(key.str())] = node.source().begin.line;
      unknown(key.str(), key.str(), "unknown key", known_);
    }
    path_ = outer, here_ = around, known_ = std::move(known);
  }

  const toml::table* here_;
  std::string file_, path_;
  std::vector<std::string> known_;     // keys that this table may have
  std::map<std::string, Line> lines_;  // lines of the keys that were found
};

}  // namespace

std::string print(const Cluster& cluster) {
  ClusterPrinter printer;
  visit_fields(cluster, printer);
  return printer.result;
}

std::vector<std::pair<std::string, std::string>> fitted_values(const Cluster& cluster) {
  ClusterPrinter printer;
  visit_fields(cluster, printer);
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& key : cluster.fitted) {
    const auto found = printer.values.find(key);
    values.emplace_back(key, found == printer.values.end() ? "0" : found->second);  // zeros are not printed
  }
  return values;
}

Cluster parse_cluster(std::string_view text, const std::string& path) {
  if (const auto line = line_of_deep_key(text)) {
    throw InvalidFile("[cluster] {}:{}: a key is nested too deeply, got more than {} parts, expected fewer", path,
                      *line, kMaxTomlKeyParts);
  }
  const PlainNumbers plain;
  try {
    return ClusterReader(toml::parse(text, path), path).read();
  } catch (const toml::parse_error& error) {
    throw InvalidFile("[cluster] {}:{}: not TOML, got '{}', expected key = value or [table]", path,
                      error.source().begin.line, error.description());
  }
}

Cluster read_cluster(const std::string& path) { return parse_cluster(read_text_file(path, kClusterFile), path); }

}  // namespace partita
