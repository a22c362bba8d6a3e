#include "planner/pricing/layers/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

namespace partita {
namespace {

constexpr std::string_view kWhere = "--fixed";

int64_t read_count(std::string_view where, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
  throw InvalidArgument("[{}] bad number, got '{}', expected a whole number from {} to {}", where, text, least, most);
}

bool read_bool(std::string_view where, std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw InvalidArgument("[{}] bad switch, got '{}', expected true or false", where, text);
}

/// A key of a configuration: how its value is parsed and printed.
struct Key {
  std::string name;
  std::function<void(Configuration&, std::string_view where, std::string_view text)> read;
  std::function<std::string(const Configuration&)> print;
};

Key count(const std::string& name, int64_t Configuration::*member, int64_t least, int64_t most) {
  return {name,
          [=](Configuration& to, std::string_view where, std::string_view text) {
            to.*member = read_count(where, text, least, most);
          },
          [=](const Configuration& from) { return fmt::format("{}", from.*member); }};
}

template <Named Enum>
Key choice(const std::string& name, Enum Configuration::*member) {
  return {name,
          [=](Configuration& to, std::string_view where, std::string_view text) {
            to.*member = parse_name<Enum>(where, text);
          },
          [=](const Configuration& from) { return std::string(name_of(from.*member)); }};
}

/// Parses the counts of one policy, by group: "12" or "4/2/0". Throws InvalidArgument for other texts and counts above
/// `most`.
std::vector<int64_t> read_counts(std::string_view where, std::string_view text, int64_t most) {
  std::vector<int64_t> counts;
  while (true) {
    const size_t slash = std::min(text.find('/'), text.size());
    counts.push_back(read_count(where, text.substr(0, slash), 0, most));
    if (slash == text.size()) return counts;
    text.remove_prefix(slash + 1);
  }
}

/// Parses a policy, or counts such as "full:4/2+selective:1"; one number stands for all groups. Throws InvalidArgument
/// for other texts, for a policy that is given twice, for counts above `most`, and for different numbers of groups.
RecomputedLayers read_recomputed_layers(std::string_view where, std::string_view text, int64_t most) {
  if (text.find(':') == text.npos) return parse_name<Recompute>(where, text);
  std::array<std::vector<int64_t>, 2> of_policies;  // full, selective
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t colon = std::min(part.find(':'), part.size());
    const size_t policy = position_of_name(where, part.substr(0, colon), {"full", "selective"});
    if (!of_policies[policy].empty()) {
      throw InvalidArgument("[{}] given twice, got '{}', expected it once", where, part.substr(0, colon));
    }
    of_policies[policy] = read_counts(where, part.substr(std::min(colon + 1, part.size())), most);
  }
  const size_t groups = std::max(of_policies[0].size(), of_policies[1].size());
  for (std::vector<int64_t>& counts : of_policies) {
    if (counts.empty()) counts.push_back(0);
    if (counts.size() == 1) counts.resize(groups, counts[0]);
    if (counts.size() == groups) continue;
    throw InvalidArgument("[{}] conflicting numbers of groups of stages, got {} and {} in '{}', expected one", where,
                          of_policies[0].size(), of_policies[1].size(), text);
  }
  std::vector<RecomputedLayers::Counts> counts;
  for (size_t group = 0; group < groups; ++group) counts.push_back({of_policies[0][group], of_policies[1][group]});
  return RecomputedLayers(std::move(counts));
}

std::vector<Key> keys() {
  static constexpr int64_t kMaxCount = int64_t{1} << 20;
  return {count("data", &Configuration::data, 1, kMaxCount),
          count("context", &Configuration::context, 1, kMaxCount),
          count("tensor", &Configuration::tensor, 1, kMaxCount),
          choice("cuts", &Configuration::cuts),
          count("squeeze", &Configuration::squeeze, 0, kMaxSqueeze),
          count("links", &Configuration::links, 0, kMaxLinks),
          count("pipeline", &Configuration::pipeline, 1, kMaxCount),
          {"sequence_parallel",
           [](Configuration& to, std::string_view where, std::string_view text) {
             to.sequence_parallel = read_bool(where, text);
           },
           [](const Configuration& from) { return from.sequence_parallel ? "true" : "false"; }},
          count("interleave", &Configuration::interleave, 1, kMaxCount),
          choice("deal", &Configuration::layer_split),
          count("micro_batch", &Configuration::micro_batch, 0, kMaxCount),
          choice("order", &Configuration::order),
          {"recompute",
           [](Configuration& to, std::string_view where, std::string_view text) {
             to.recompute = read_recomputed_layers(where, text, kMaxCount);
           },
           [](const Configuration& from) { return print(from.recompute); }},
          count("zero", &Configuration::zero, 0, kMaxZero)};
}

/// Splits "KEY=VALUE,.." into pairs of an index in `known` and a value. Throws InvalidArgument for items without '=',
/// and for unknown or repeated keys.
std::vector<std::pair<size_t, std::string_view>> items_of(std::string_view text, std::string_view where,
                                                          const std::vector<Key>& known) {
  std::vector<std::string> names;
  for (const Key& key : known) names.push_back(key.name);
  std::vector<bool> is_given(known.size(), false);
  std::vector<std::pair<size_t, std::string_view>> items;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == item.npos) {
      throw InvalidArgument("[{}] bad item, got '{}', expected KEY=VALUE", where, item);
    }
    const size_t key = position_of_name(where, item.substr(0, equals), names);
    if (is_given[key]) {
      throw InvalidArgument("[{}] given twice, got '{}', expected it once", where, names[key]);
    }
    is_given[key] = true;
    items.emplace_back(key, item.substr(equals + 1));
  }
  return items;
}

/// Returns the divisors of `number` on either side of `wanted`, which does not divide it, as text: "4 or 8". Leaves out
/// the larger one if it exceeds `most`. Returns `number` alone if `wanted` exceeds it.
std::string divisors_near(int64_t number, int64_t wanted, int64_t most) {
  int64_t below = std::min(wanted, number), above = wanted;
  while (number % below != 0) --below;
  while (above < std::min(number, most) && number % above != 0) ++above;
  const bool has_above = above <= std::min(number, most) && number % above == 0;
  return has_above ? fmt::format("{} or {}", below, above) : fmt::format("{}", below);
}

}  // namespace

int64_t micro_batches(const Configuration& configuration, int64_t batch) {
  return batch / (configuration.data * configuration.micro_batch);
}

std::string print(const RecomputedLayers& recomputed) {
  if (!recomputed.is_counted()) return std::string(name_of(recomputed.all));
  const auto text_of = [&](std::string_view name, int64_t RecomputedLayers::Counts::*member) -> std::string {
    std::vector<int64_t> numbers;
    for (const RecomputedLayers::Counts& counts : recomputed.counts) numbers.push_back(counts.*member);
    const bool are_alike = std::ranges::all_of(numbers, [&](int64_t one) { return one == numbers[0]; });
    if (are_alike && numbers[0] == 0) return "";
    if (are_alike) numbers.resize(1);
    return fmt::format("{}:{}", name, fmt::join(numbers, "/"));
  };
  const std::string full = text_of("full", &RecomputedLayers::Counts::full);
  const std::string selective = text_of("selective", &RecomputedLayers::Counts::selective);
  if (full.empty() && selective.empty()) return "none";
  return full + (full.empty() || selective.empty() ? "" : "+") + selective;
}

std::string print(const Configuration& configuration) {
  std::string text;
  for (const Key& key : keys()) {
    const std::string value = key.print(configuration);
    if (key.name != "data" && value == key.print(Configuration{})) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key.name, value);
  }
  return text;
}

Configuration parse_configuration(std::string_view text, std::string_view where) {
  Configuration configuration;
  const std::vector<Key> known = keys();
  for (const auto& [key, value] : items_of(text, where, known)) {
    known[key].read(configuration, fmt::format("{} {}", where, known[key].name), value);
  }
  int64_t left = kMaxMeshRanks;
  for (const int64_t ways : {configuration.data, configuration.context, configuration.tensor, configuration.pipeline}) {
    if (ways > left) {
      throw InvalidArgument(
          "[{}] too many ranks, got data {} x context {} x tensor {} x pipeline {}, expected at most {}", where,
          configuration.data, configuration.context, configuration.tensor, configuration.pipeline, kMaxMeshRanks);
    }
    left /= ways;
  }
  return configuration;
}

std::vector<std::string> keys_of(std::string_view text) {
  const std::vector<Key> known = keys();
  std::vector<std::string> result;
  for (const auto& [key, value] : items_of(text, kWhere, known)) result.push_back(known[key].name);
  return result;
}

namespace {

/// Sets a micro-batch of 0 to all rows of a rank or, with a pipeline, to one row. Throws InvalidArgument for another
/// number of ranks, for rows that do not divide, and for more than kMaxMicroBatches micro-batches.
void complete_batch(Configuration& configuration, int64_t ranks, int64_t batch, std::string_view where,
                    int64_t max_ranks) {
  if (configuration.ranks() != ranks) {
    throw InvalidArgument(
        "[{}] wrong number of ranks, got data {} x context {} x tensor {} x pipeline {} = {}, expected {}", where,
        configuration.data, configuration.context, configuration.tensor, configuration.pipeline, configuration.ranks(),
        ranks);
  }
  if (batch % configuration.data != 0) {
    throw InvalidArgument("[{}] the batch does not divide, got {} rows for data={}, expected data={}", where, batch,
                          configuration.data,
                          divisors_near(batch, configuration.data, max_ranks * configuration.data / ranks));
  }
  const int64_t rows = batch / configuration.data;
  if (configuration.micro_batch == 0) configuration.micro_batch = configuration.pipeline > 1 ? 1 : rows;
  if (rows % configuration.micro_batch != 0) {
    throw InvalidArgument(
        "[{}] the rows of a rank do not divide into micro-batches, got {} rows for micro_batch={}, expected "
        "micro_batch={}",
        where, rows, configuration.micro_batch, divisors_near(rows, configuration.micro_batch, rows));
  }
  if (micro_batches(configuration, batch) > kMaxMicroBatches) {
    throw InvalidArgument("[{}] too many micro-batches, got {} of micro_batch={}, expected at most {}", where,
                          micro_batches(configuration, batch), configuration.micro_batch, kMaxMicroBatches);
  }
}

void require_stages(const Configuration& configuration, std::string_view where) {
  if (configuration.interleave > 1 && configuration.pipeline == 1) {
    throw InvalidArgument("[{}] interleave={} without stages, got pipeline=1, expected 2 or more", where,
                          configuration.interleave);
  }
  if (configuration.layer_split == LayerSplit::balanced && configuration.pipeline == 1) {
    throw InvalidArgument("[{}] deal=balanced without stages, got pipeline=1, expected 2 or more", where);
  }
}

/// Completes the counts of recomputed layers: one for each group of stages, or none if all are 0. Throws
/// InvalidArgument for several counts that are not one for each group.
void complete_recomputation(Configuration& configuration, std::string_view where) {
  if (!counts_each_group(configuration.recompute, configuration.pipeline)) {
    throw InvalidArgument(
        "[{}] recompute counts layers for the wrong number of groups of stages, got {} numbers for pipeline={}, "
        "expected 1 or {}",
        where, configuration.recompute.counts.size(), configuration.pipeline, configuration.pipeline);
  }
  if (print(configuration.recompute) == name_of(Recompute::none)) configuration.recompute = {};
}

void require_cuts(const Configuration& configuration, std::string_view where) {
  if (configuration.sequence_parallel && configuration.tensor == 1) {
    throw InvalidArgument("[{}] sequence_parallel has nothing to cut over, got tensor=1, expected 2 or more", where);
  }
  if (configuration.cuts == TensorCuts::searched && configuration.tensor == 1) {
    throw InvalidArgument("[{}] cuts=searched without ranks, got tensor=1, expected 2 or more", where);
  }
  if (configuration.links > 0 && configuration.cuts != TensorCuts::searched) {
    throw InvalidArgument("[{}] links={} without searched cuts, got cuts={}, expected cuts=searched, or no links",
                          where, configuration.links, name_of(configuration.cuts));
  }
  if (configuration.cuts == TensorCuts::searched && (configuration.sequence_parallel || configuration.context > 1)) {
    throw InvalidArgument(
        "[{}] cuts=searched also decides how the sequence is cut, got {}, expected cuts=blocks, or neither", where,
        configuration.sequence_parallel ? "sequence_parallel=true" : "context above 1");
  }
  if (configuration.squeeze > 0 && configuration.cuts != TensorCuts::searched) {
    throw InvalidArgument("[{}] squeeze={} has no effect, got cuts={}, expected cuts=searched", where,
                          configuration.squeeze, name_of(configuration.cuts));
  }
}

}  // namespace

bool counts_each_group(RecomputedLayers& recompute, int64_t groups) {
  std::vector<RecomputedLayers::Counts>& counts = recompute.counts;
  if (counts.size() == 1) counts.resize(static_cast<size_t>(groups), counts[0]);
  return counts.empty() || counts.size() == static_cast<size_t>(groups);
}

Configuration completed(Configuration configuration, int64_t ranks, int64_t batch, std::string_view where,
                        int64_t max_ranks) {
  complete_batch(configuration, ranks, batch, where, max_ranks);
  require_stages(configuration, where);
  complete_recomputation(configuration, where);
  require_cuts(configuration, where);
  if (configuration.interleave > 1 && configuration.order == Order::one_forward_one_backward) {
    configuration.order = Order::interleaved;
  }
  return configuration;
}

}  // namespace partita
