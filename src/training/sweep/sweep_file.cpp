#include "training/sweep/sweep_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/plain_numbers.h"
#include "base/saturating.h"
#include "base/text_file.h"
#include "base/toml_keys.h"
#include "base/toml_kind.h"
#include "job/options.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr TextFile kSweepFile{.where = "sweep", .purpose = "a sweep", .max_bytes = int64_t{1} << 20};
constexpr int64_t kMaxValues = 1000;  // maximum of a key

/// Returns a number in [0, 1) that depends on its arguments alone (SplitMix64 of Guy Steele and others).
double uniform(uint64_t seed, uint64_t trial, uint64_t key) {
  uint64_t z = seed;
  for (const uint64_t part : {trial, key}) {
    z += 0x9e3779b97f4a7c15 * (part + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53;
}

/// Returns the number at a part of the range, 0 to 1, as a text of at most six digits.
std::string text_at(const SweepRange& range, double part) {
  const double value =
      range.is_log ? range.low * std::pow(range.high / range.low, part) : range.low + part * (range.high - range.low);
  return range.is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::vector<std::string> grid_values(const SweepKey& key) {
  if (!key.range) return key.values;
  std::vector<std::string> values;
  for (int64_t i = 0; i < key.range->count; ++i) {
    const double part = key.range->count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(key.range->count - 1);
    const std::string text = text_at(*key.range, part);
    if (values.empty() || values.back() != text) values.push_back(text);
  }
  return values;
}

class SweepReader {
 public:
  explicit SweepReader(const std::string& path) { sweep_.path = path; }

  Sweep read(const toml::table& table) {
    for (const auto& [key, node] : table) take(std::string(key.str()), node);
    finish();
    return std::move(sweep_);
  }

 private:
  std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", sweep_.path, node.source().begin.line);
  }
  [[noreturn]] void refuse_kind(const toml::node& node, std::string_view key, std::string_view expected) const {
    throw InvalidFile("[sweep] {}: bad kind of value of {}, got {}, expected {}", where(node), key, kind_of(node),
                      expected);
  }
  /// Runs `check`, and makes its InvalidArgument an error of the file.
  template <class Check>
  auto in_file(const toml::node& node, const Check& check) const {
    try {
      return check();
    } catch (const InvalidArgument& error) {
      throw InvalidFile("{} (in {})", error.what(), where(node));
    }
  }

  void take(const std::string& key, const toml::node& node) {
    static const std::vector<std::string> kKeys{"model",  "config", "search", "metric",
                                                "trials", "seed",   "fixed",  "keys"};
    if (key == "model") {
      sweep_.model = text(node, key);
      in_file(node, [&] { make_model(sweep_.model); });
    } else if (key == "config") {
      const std::filesystem::path config(text(node, key));
      sweep_.config = (std::filesystem::path(sweep_.path).parent_path() / config).string();
    } else if (key == "search") {
      sweep_.search = in_file(node, [&] { return parse_name<SweepSearch>("search", text(node, key)); });
    } else if (key == "metric") {
      sweep_.metric = in_file(node, [&] { return parse_name<SweepMetric>("metric", text(node, key)); });
    } else if (key == "trials") {
      sweep_.trials = whole(node, key, 1, kMaxTrials);
    } else if (key == "seed") {
      sweep_.seed = static_cast<uint64_t>(whole(node, key, 0, std::numeric_limits<int64_t>::max()));
    } else if (key == "fixed" || key == "keys") {
      take_section(key, node);
    } else {
      in_file(node, [&] {
        throw unknown_name("[sweep] unknown key", key, fmt::format("one of {}", fmt::join(kKeys, " ")), kKeys);
      });
    }
  }

  void take_section(const std::string& part, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) refuse_kind(node, part, "a table");
    const std::vector<std::string> sections = names_of<OptionSection>();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      const toml::table* inner = value.as_table();
      if (inner == nullptr || std::ranges::find(sections, name) == sections.end()) {
        take_key(part, name, value);
        continue;
      }
      for (const auto& [inner_key, inner_value] : *inner) {
        take_key(part, fmt::format("{}.{}", name, inner_key.str()), inner_value);
      }
    }
  }

  void take_key(const std::string& part, const std::string& key, const toml::node& node) {
    const JobOption& option = in_file(node, [&]() -> const JobOption& { return find_option(key); });
    const bool is_written = option.section == OptionSection::files && key != "files.load" && key != "files.cluster";
    if (is_written || option.section == OptionSection::console) {
      throw InvalidFile("[sweep] {}: a sweep decides this key itself, got {}, expected another key", where(node), key);
    }
    if (!given_.insert(key).second) {
      throw InvalidFile("[sweep] {}: the key is there twice, in [fixed] and [keys], got {}, expected it once",
                        where(node), key);
    }
    if (part == "fixed") {
      sweep_.fixed.emplace_back(key, texts(node, key));
      check(option, node, sweep_.fixed.back().second);
      return;
    }
    SweepKey varied{.key = key};
    if (node.is_array()) {
      varied.values = texts(node, key);
    } else if (const toml::table* table = node.as_table()) {
      take_range(varied, *table);
    } else {
      refuse_kind(node, key, "a list of values, or { range = [A, B] }");
    }
    if (varied.values.empty() && !varied.range) {
      throw InvalidFile("[sweep] {}: no value of {}, got an empty list, expected one or more", where(node), key);
    }
    const std::vector<std::string> ends{varied.range ? text_at(*varied.range, 0) : "",
                                        varied.range ? text_at(*varied.range, 1) : ""};
    for (const std::string& one : varied.range ? ends : varied.values) check(option, node, {one});
    nodes_.push_back(&node);
    sweep_.keys.push_back(std::move(varied));
  }

  void take_range(SweepKey& varied, const toml::table& table) const {
    static const std::vector<std::string> kWords{"values", "range", "log_range", "count", "seeds"};
    for (const auto& [key, node] : table) {
      const std::string word(key.str());
      if (std::ranges::find(kWords, word) != kWords.end()) continue;
      in_file(node, [&] {
        throw unknown_name(fmt::format("[sweep] unknown word of {}", varied.key), word,
                           fmt::format("one of {}", fmt::join(kWords, " ")), kWords);
      });
    }
    int kinds = 0;
    for (const char* word : {"values", "range", "log_range", "seeds"}) kinds += table.contains(word) ? 1 : 0;
    if (kinds != 1) {
      throw InvalidFile("[sweep] {}: {} needs one of values, range, log_range and seeds, got {} of them", where(table),
                        varied.key, kinds);
    }
    if (const toml::node* values = table.get("values")) {
      if (!values->is_array()) refuse_kind(*values, "values", "a list");
      varied.values = texts(*values, "values");
    }
    if (const toml::node* seeds = table.get("seeds")) {
      const int64_t count = whole(*seeds, "seeds", 1, kMaxValues);
      for (int64_t i = 1; i <= count; ++i) varied.values.push_back(fmt::format("{}", i));
    }
    for (const char* word : {"range", "log_range"}) {
      if (const toml::node* ends = table.get(word)) varied.range = range_of(*ends, word);
    }
    const toml::node* count = table.get("count");
    if (count == nullptr) return;
    if (!varied.range)
      throw InvalidFile("[sweep] {}: count has no effect without a range, got {}", where(*count), varied.key);
    varied.range->count = whole(*count, "count", 1, kMaxValues);
  }

  SweepRange range_of(const toml::node& node, std::string_view word) const {
    const toml::array* ends = node.as_array();
    if (ends == nullptr || ends->size() != 2 || !(*ends)[0].is_number() || !(*ends)[1].is_number()) {
      refuse_kind(node, word, "two numbers, [A, B]");
    }
    const SweepRange range{.low = *(*ends)[0].value<double>(),
                           .high = *(*ends)[1].value<double>(),
                           .is_log = word == "log_range",
                           .is_whole = (*ends)[0].is_integer() && (*ends)[1].is_integer()};
    const bool is_finite = std::isfinite(range.low) && std::isfinite(range.high);
    if (!is_finite || !(range.low < range.high) || (range.is_log && !(range.low > 0))) {
      throw InvalidFile("[sweep] {}: bad {}, got [{}, {}], expected a lower and a higher number{}", where(node), word,
                        range.low, range.high, range.is_log ? ", both above 0" : "");
    }
    return range;
  }

  /// Checks that the option takes the texts. Throws InvalidFile otherwise.
  void check(const JobOption& option, const toml::node& node, const std::vector<std::string>& texts) const {
    in_file(node, [&] {
      JobConfig config;
      option.set(config, option.key(), texts);
      if (option.key() == "model") make_model(config.model);
    });
  }

  std::string text(const toml::node& node, std::string_view key) const {
    if (const auto* one = node.as_string()) return one->get();
    refuse_kind(node, key, "a text");
  }

  int64_t whole(const toml::node& node, std::string_view key, int64_t least, int64_t most) const {
    const auto* number = node.as_integer();
    if (number == nullptr) refuse_kind(node, key, "a whole number");
    if (number->get() < least || number->get() > most) {
      throw InvalidFile("[sweep] {}: {} is out of range, got {}, expected {} to {}", where(node), key, number->get(),
                        least, most);
    }
    return number->get();
  }

  /// Returns the text of a value, or those of a list.
  std::vector<std::string> texts(const toml::node& node, const std::string& key) const {
    std::vector<std::string> all;
    if (const toml::array* list = node.as_array()) {
      if (std::ssize(*list) > kMaxValues) {
        throw InvalidFile("[sweep] {}: too many values of {}, got {}, expected at most {}", where(node), key,
                          list->size(), kMaxValues);
      }
      for (const toml::node& one : *list) {
        if (one.is_array()) refuse_kind(one, key, "a text, a number, true or false");
        all.push_back(texts(one, key).at(0));
      }
      return all;
    }
    if (const auto* one = node.as_string()) return {one->get()};
    if (const auto* one = node.as_integer()) return {fmt::format("{}", one->get())};
    if (const auto* one = node.as_floating_point()) return {fmt::format("{}", one->get())};
    if (const auto* one = node.as_boolean()) return {one->get() ? "true" : "false"};
    refuse_kind(node, key, "a text, a number, true or false");
  }

  void finish() {
    const std::string& path = sweep_.path;
    if (sweep_.keys.empty()) throw InvalidFile("[sweep] {}: no key to vary, got no [keys], expected one or more", path);
    if (sweep_.model.empty() && sweep_.config.empty() && !given_.contains("model")) {
      throw InvalidFile("[sweep] {}: no model, expected model = \"..\", or a config that names one", path);
    }
    if (sweep_.search == SweepSearch::random) {
      if (sweep_.trials == 0)
        throw InvalidFile("[sweep] {}: a random search needs a length, expected trials = N", path);
      return;
    }
    if (sweep_.trials > 0) {
      throw InvalidFile("[sweep] {}: trials has no effect, got search = \"grid\", expected \"random\"", path);
    }
    int64_t trials = 1;
    for (size_t i = 0; i < sweep_.keys.size(); ++i) {
      const SweepKey& key = sweep_.keys[i];
      if (key.range && key.range->count == 0) {
        throw InvalidFile("[sweep] {}: a grid needs the points of a range, got no count of {}, expected count = N",
                          where(*nodes_[i]), key.key);
      }
      trials = saturating_mul(trials, std::ssize(grid_values(key)));
    }
    if (trials > kMaxTrials) {
      throw InvalidFile("[sweep] {}: too many trials, got {}, expected at most {}; search = \"random\" draws some",
                        path, trials, kMaxTrials);
    }
  }

  Sweep sweep_;
  std::set<std::string> given_;
  std::vector<const toml::node*> nodes_;
};

}  // namespace

bool is_better_if_larger(SweepMetric metric) {
  return metric == SweepMetric::validation_accuracy || metric == SweepMetric::test_accuracy ||
         metric == SweepMetric::rows_per_second;
}

Sweep parse_sweep(std::string_view text, const std::string& path) {
  if (const auto line = line_of_deep_key(text)) {
    throw InvalidFile("[sweep] {}:{}: a key is nested too deeply, got more than {} parts, expected section.key", path,
                      *line, kMaxTomlKeyParts);
  }
  const PlainNumbers plain;
  try {
    return SweepReader(path).read(toml::parse(text, path));
  } catch (const toml::parse_error& error) {
    throw InvalidFile("[sweep] {}:{}: not TOML, got '{}', expected key = value or [section]", path,
                      error.source().begin.line, error.description());
  }
}

Sweep read_sweep(const std::string& path) { return parse_sweep(read_text_file(path, kSweepFile), path); }

std::vector<KeyValues> trials_of(const Sweep& sweep) {
  std::vector<KeyValues> trials;
  if (sweep.search == SweepSearch::grid) {
    trials.emplace_back();
    for (const SweepKey& key : sweep.keys) {
      std::vector<KeyValues> longer;
      for (const KeyValues& trial : trials) {
        for (const std::string& value : grid_values(key)) {
          longer.push_back(trial);
          longer.back().emplace_back(key.key, value);
        }
      }
      trials = std::move(longer);
    }
  } else {
    for (int64_t i = 0; i < sweep.trials; ++i) {
      KeyValues& trial = trials.emplace_back();
      for (size_t k = 0; k < sweep.keys.size(); ++k) {
        const SweepKey& key = sweep.keys[k];
        const double part = uniform(sweep.seed, static_cast<uint64_t>(i), k);
        const auto index = static_cast<size_t>(part * static_cast<double>(key.values.size()));
        trial.emplace_back(key.key, key.range ? text_at(*key.range, part) : key.values[index]);
      }
    }
  }
  std::set<KeyValues> known;
  std::erase_if(trials, [&](const KeyValues& trial) { return !known.insert(trial).second; });
  return trials;
}

}  // namespace partita
