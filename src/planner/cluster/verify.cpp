#include <algorithm>
#include <cmath>
#include <set>

#include "ir/sharding/mesh.h"
#include "planner/cluster/cluster_fields.h"

namespace partita {

std::string NumberRange::print() const {
  return fmt::format("{}a number {} {} and at most {}", or_none ? "0, or " : "", above_least ? "above" : "of at least",
                     least, most);
}

bool NumberRange::contains(double number) const {
  if (or_none && number == 0) return true;
  return std::isfinite(number) && (above_least ? number > least : number >= least) && number <= most;
}

namespace {

/// Checks every field by itself, and keeps the first fault.
class FieldCheck {
 public:
  std::optional<ClusterFault> fault;

  void number(std::string_view name, double value, const NumberRange& range) {
    require(range.contains(value), name, "bad number", fmt::format("{}", value), range.print());
  }
  void whole(std::string_view name, int64_t value, int64_t least, int64_t most) {
    require(value >= least && value <= most, name, "bad number", fmt::format("{}", value),
            fmt::format("{} to {}", least, most));
  }
  void flag(std::string_view, bool, bool = false) {}
  void texts(std::string_view name, const std::vector<std::string>& values) {
    for (size_t i = 0; i < values.size(); ++i) text(fmt::format("{}[{}]", name, i), values[i]);
  }
  void text(std::string_view name, const std::string& value) {
    require(!value.empty(), name, "bad text", "''", "a name");
  }
  void numbers(std::string_view name, const std::vector<double>& values, const NumberRange& range) {
    for (size_t i = 0; i < values.size(); ++i) number(fmt::format("{}[{}]", name, i), values[i], range);
  }
  template <class Enum>
  void choices(std::string_view name, const std::vector<Enum>& values) {
    require(!values.empty(), name, "none is chosen", "none", fmt::format("some of {}", fmt::join(kNames<Enum>, " ")));
  }
  void curve(std::string_view name, const Curve& curve) {
    for (size_t i = 0; i < curve.size(); ++i) {
      const std::string point = fmt::format("{}[{}]", name, i);
      number(point, curve[i].size, kSize);
      number(point, curve[i].share, kAnyShare);
      if (i == 0 || fault) continue;
      const double sizes = curve[i].size / curve[i - 1].size, shares = curve[i].share / curve[i - 1].share;
      require(sizes > 1, point, "sizes do not ascend", fmt::format("{}", curve[i].size),
              fmt::format("more than {}", curve[i - 1].size));
      require(shares <= sizes * (1 + 1e-9), point, "more work takes less time",
              fmt::format("a share of {}", curve[i].share), fmt::format("at most {}", curve[i - 1].share * sizes));
    }
  }
  void calls(std::string_view name, const std::vector<MeasuredCall>& calls) {
    require(!calls.empty(), name, "no call", "none", "one or more");
    for (size_t i = 0; i < calls.size(); ++i) {
      const MeasuredCall& call = calls[i];
      const std::string point = fmt::format("{}[{}]", name, i);
      for (const double size : {call.flops, call.bytes, call.batch, call.rows, call.columns, call.depth})
        number(point, size, kSizeOrNone);
      number(point, call.share, kAnyShare);
    }
  }
  template <class Fields>
  void table(std::string_view name, const Fields& fields) {
    const std::string outer = path_;
    path_ += fmt::format("{}.", name);
    fields();
    path_ = outer;
  }
  template <class Map, class Fields>
  void named(std::string_view name, const Map& map, const Fields& fields) {
    table(name, [&] {
      for (const auto& [key, value] : map) fields(name_of(key), value);
    });
  }
  template <class List, class Fields>
  void tables(std::string_view name, const List& list, const Fields& fields) {
    for (size_t i = 0; i < list.size(); ++i) {
      table(fmt::format("{}[{}]", name, i), [&] { fields(list[i]); });
    }
  }
  void require(bool holds, std::string_view name, std::string_view what, std::string got, std::string expected) {
    if (!holds && !fault) {
      fault = {path_ + std::string(name), std::string(what), std::move(got), std::move(expected)};
    }
  }

 private:
  std::string path_;
};

void check_level(FieldCheck& check, const Cluster& cluster, size_t l) {
  const LinkLevel& level = cluster.levels[l];
  const std::string key = fmt::format("level[{}].", l);
  check.require(level.latency.size() == cluster.protocols.size(), key + "latency", "bad number of latencies",
                fmt::format("{}", level.latency.size()),
                fmt::format("{}, one for each protocol", cluster.protocols.size()));
  check.require(level.tree_latency.empty() || level.tree_latency.size() == level.latency.size(), key + "tree_latency",
                "bad number of latencies", fmt::format("{}", level.tree_latency.size()),
                fmt::format("none or {}, one for each protocol", level.latency.size()));
  check.require(level.share_by_members.empty() || std::ssize(level.share_by_members) == level.size - 1,
                key + "share_by_members", "bad number of shares", fmt::format("{}", level.share_by_members.size()),
                fmt::format("none or {}, for 2 to {} members", level.size - 1, level.size));
}

/// Checks that the algorithms of this project's runtime, if there are any, include one that runs every call.
void check_algorithms(FieldCheck& check, const Cluster& cluster) {
  const std::vector<CollectiveAlgorithm>& listed = cluster.software.algorithms;
  const auto has = [&](CollectiveAlgorithm one) {
    return std::find(listed.begin(), listed.end(), one) != listed.end();
  };
  if (std::none_of(listed.begin(), listed.end(), is_of_runtime) || has(CollectiveAlgorithm::exchange)) return;
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm one : listed) names.push_back(name_of(one));
  const std::string got = fmt::format("{}", fmt::join(names, " "));
  const bool has_one_host = std::all_of(cluster.levels.begin() + std::min<size_t>(1, cluster.levels.size()),
                                        cluster.levels.end(), [](const LinkLevel& level) { return level.size == 1; });
  check.require(has_one_host, "software.algorithms", "ranks of several hosts have no algorithm", got, "also exchange");
  check.require(has(CollectiveAlgorithm::direct), "software.algorithms", "ranks of a host have no algorithm", got,
                "also direct or exchange");
}

void check_measured(FieldCheck& check, const SoftwareCosts& software) {
  for (const auto& [kind, groups] : software.measured) {
    for (size_t i = 0; i < groups.size(); ++i) {
      const std::string key = fmt::format("software.measured.{}[{}].", name_of(kind), i);
      check.require(!groups[i].shares.empty(), key + "shares", "no share", "none", "one or more");
      check.require(i == 0 || groups[i].ranks > groups[i - 1].ranks, key + "ranks", "numbers do not ascend",
                    fmt::format("{}", groups[i].ranks), "more than that of the group before it");
    }
  }
}

/// Checks fields against each other; `check.fault` then has the first fault, if there is one.
void check_whole(FieldCheck& check, const Cluster& cluster) {
  check.require(!cluster.device.peak.empty(), "device.peak", "no rate of any type", "none", "a table of types");
  check.require(cluster.reserve_memory < cluster.device.memory, "reserve_memory", "no memory is left",
                fmt::format("{}", cluster.reserve_memory), fmt::format("less than {}", cluster.device.memory));
  check_algorithms(check, cluster);
  check_measured(check, cluster.software);
  check.require(!cluster.protocols.empty(), "protocol", "no protocol", "none", "one or more");
  check.require(!cluster.levels.empty(), "level", "no level", "none", "one or more, innermost first");
  std::set<std::string> names;
  int64_t ranks = 1;
  for (size_t l = 0; l < cluster.levels.size() && !check.fault; ++l) {
    const LinkLevel& level = cluster.levels[l];
    check_level(check, cluster, l);
    check.require(names.insert(level.name).second, fmt::format("level[{}].name", l), "two levels have one name",
                  fmt::format("'{}'", level.name), "another name");
    check.require(level.size <= kMaxMeshRanks / ranks, fmt::format("level[{}].size", l), "too many ranks",
                  fmt::format("{} x {}", ranks, level.size), fmt::format("at most {}", kMaxMeshRanks));
    ranks *= level.size;
  }
}

}  // namespace

std::optional<ClusterFault> first_fault(const Cluster& cluster) {
  FieldCheck check;
  visit_fields(cluster, check);
  if (!check.fault) check_whole(check, cluster);
  return check.fault;
}

void verify(const Cluster& cluster) {
  if (const auto fault = first_fault(cluster)) {
    throw InvalidArgument("[cluster] {}: {}, got {}, expected {}", fault->key, fault->what, fault->got,
                          fault->expected);
  }
}

}  // namespace partita
