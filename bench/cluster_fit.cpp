// How well the presets of clusters meet collectives that others measured (CSV files, one row per measurement): the mean
// and the largest error by system. Sizes of one MB and more count; rows of a "large message" are taken as 8 GiB.
//
//   bench_cluster_fit [FOLDER [ROWS]]     `ROWS`, when there, prints each row

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "planner/cluster/collective_seconds.h"
#include "planner/cluster/presets.h"
#include "usage.h"

namespace partita {
namespace {

using Row = std::map<std::string, std::string>;

constexpr double kLarge = 8.0 * (1 << 30), kMinCounted = 1e6;

std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw MissingFile(fmt::format("[cluster_fit] cannot read {}", path));
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = split_line(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split_line(line);
    Row& row = rows.emplace_back();
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

double number(const Row& row, const std::string& name) { return std::atof(row.at(name).c_str()); }

/// A group of `nodes` nodes with `ranks` ranks in each, alone on its links.
GroupPlace group_of(int64_t nodes, int64_t ranks) {
  return {nodes * ranks, {ranks, nodes}, {1, ranks}, {1, 1}, {1, 1}};
}

class Errors {
 public:
  explicit Errors(bool rows) : rows_(rows) {}

  void add(const std::string& group, const std::string& row, double predicted, double measured) {
    const double error = std::abs(predicted / measured - 1);
    for (Total* total : {&groups_[group], &all_}) {
      total->sum += error, total->most = std::max(total->most, error), ++total->count;
    }
    if (rows_)
      fmt::print("{:<22} {:<44} {:12.4g} {:12.4g} {:+7.1f} %\n", group, row, predicted, measured,
                 100 * (predicted / measured - 1));
  }
  void print(std::string_view title) const {
    fmt::print("{}\n", title);
    for (const auto& [name, total] : groups_) total.print(name);
    all_.print("all");
  }

 private:
  struct Total {
    double sum = 0, most = 0;
    int count = 0;
    void print(std::string_view name) const {
      fmt::print("  {:<30} {:4} rows   mean {:5.1f} %   largest {:5.1f} %\n", name, count, 100 * sum / count,
                 100 * most);
    }
  };
  bool rows_;
  std::map<std::string, Total> groups_;
  Total all_;
};

/// A measured system that has a preset.
struct Measured {
  std::string_view system, preset;
  int64_t nodes, ranks;
  bool in_network;  // the library may reduce in the switch
};

constexpr Measured kMeasured[] = {
    {"A100 SXM node (NVLink3)", "a100-80", 1, 8, false},
    {"H200 SXM node (NVLink4, NVLS on)", "h200", 1, 8, true},
    {"H200 SXM node (NVLink4)", "h200", 1, 8, true},
    {"P6-B200 (NVLink5)", "b200", 1, 8, true},
    {"P6-B200 (NVLink5 + 8x400Gb EFA)", "b200", 4, 8, true},
    {"NVLink2 V100 intra-node", "v100", 1, 8, false},
    {"NVLink3 A100 intra-node", "a100-80", 1, 8, false},
    {"NVLink4 H100 intra-node", "h100", 1, 8, false},
    {"NVLink4 SHARP H100 intra-node", "h100", 1, 8, true},
    {"DGX A100 NVL3 + 8x200Gb inter-node", "a100-80", 4, 8, false},
    {"DGX H100 NVL4 + 8x400Gb inter-node", "h100", 4, 8, false},
};

std::optional<Measured> find_measured(const Row& row) {
  const std::string& system = row.at("system");
  for (const Measured& measured : kMeasured) {
    if (measured.system == system) return measured;
  }
  if (system == "H200 SXM node") return Measured{system, "h200", 1, std::atoi(row.at("ranks").c_str()), true};
  return std::nullopt;
}

Cluster library_of(const Measured& measured, const std::string& collective) {
  Cluster cluster = cluster_named(fmt::format("{}:{}", measured.preset, measured.nodes));
  const bool off = !measured.in_network || collective.find("off") != std::string::npos;
  if (off) cluster.levels[0].reduce_bandwidth = 0;
  return cluster;
}

void add_bus_bandwidths(const std::string& folder, Errors& errors) {
  int left = 0;
  for (const Row& row : read_rows(folder + "/nccl_bus_bandwidth.csv")) {
    const auto measured = find_measured(row);
    const std::string collective = row.at("collective");
    const double bytes = row.at("bytes").empty() ? kLarge : number(row, "bytes");
    if (!measured || bytes < kMinCounted) {
      left += measured ? 0 : 1;
      continue;
    }
    const GroupPlace place = group_of(measured->nodes, measured->ranks);
    const Collective kind = collective.starts_with("all_gather")       ? Collective::all_gather
                            : collective.starts_with("reduce_scatter") ? Collective::reduce_scatter
                                                                       : Collective::all_reduce;
    const double ranks = static_cast<double>(place.ranks), passes = kind == Collective::all_reduce ? 2 : 1;
    const double seconds = passes * (ranks - 1) / ranks * bytes / (number(row, "busbw_GBps") * 1e9);
    errors.add(fmt::format("{} x {}", measured->preset, place.ranks), fmt::format("{} {:.0f}", collective, bytes),
               seconds_of(kind, bytes, place, library_of(*measured, collective)), seconds);
  }
  fmt::print("nccl_bus_bandwidth: {} rows of systems without a preset, or without sizes, are left out\n", left);
}

void add_traces(const std::string& folder, Errors& errors) {
  for (const Row& row : read_rows(folder + "/vtrain_allreduce_lut.csv")) {
    const Cluster cluster = cluster_named(row.at("gpu") == "a100" ? "a100-80" : row.at("gpu"));
    const GroupPlace place = group_of(1, std::atoi(row.at("ranks").c_str()));
    const double bytes = number(row, "bytes");
    errors.add(fmt::format("{} x 2..8 (vTrain)", row.at("gpu")),
               fmt::format("all_reduce {} of {}", row.at("bytes"), place.ranks),
               seconds_of(Collective::all_reduce, bytes, place, cluster), number(row, "time_ns") * 1e-9);
  }
}

/// The library's own model of an H100 cluster, by its constants: latency, and bytes per second at large sizes.
Cluster library_model(int64_t nodes) {
  Cluster cluster = cluster_named(fmt::format("h100:{}", nodes));
  const double limit = nodes > 2 ? 20.4e9 : 39e9;
  cluster.protocols = {{"LL", 6.6e-6, 0.5, limit}, {"LL128", 14e-6, 0.92, 293.6e9}, {"SIMPLE", 8.4e-6, 1, 0}};
  cluster.levels[0].bandwidth = 400e9;
  cluster.levels[0].latency = {1.0e-6, 1.9e-6, 3.4e-6};
  cluster.levels[0].tree_latency = {0.6e-6, 1.25e-6, 4.0e-6};
  cluster.levels[1].latency = {2.7e-6, 4.0e-6, 14.0e-6};
  cluster.levels[1].tree_latency = {5.0e-6, 8.5e-6, 14.0e-6};
  return cluster;
}

void add_library_model(const std::string& folder, Errors& latencies, Errors& rates) {
  const std::map<std::string, CollectiveAlgorithm> algorithms = {
      {"all_gather/reduce_scatter ring", CollectiveAlgorithm::ring},
      {"all_reduce ring", CollectiveAlgorithm::ring},
      {"all_reduce tree", CollectiveAlgorithm::tree},
      {"all_reduce nvls_tree", CollectiveAlgorithm::in_network}};
  for (const Row& row : read_rows(folder + "/nccl_h100_tuning_constants.csv")) {
    const std::string name = row.at("collective_algo"), protocol = row.at("protocol");
    const int64_t nodes = std::atoi(row.at("nodes").c_str()), ranks = std::atoi(row.at("ranks_per_node").c_str());
    const Cluster cluster = library_model(nodes);
    const Collective kind = name.starts_with("all_gather") ? Collective::all_gather : Collective::all_reduce;
    const auto seconds = [&](double bytes) {
      for (const CollectiveOption& option : collective_options(kind, bytes, group_of(nodes, ranks), cluster)) {
        if (option.algorithm == algorithms.at(name) && cluster.protocols[option.protocol].name == protocol) {
          return option.seconds;
        }
      }
      return 0.0;
    };
    const std::string text = fmt::format("{} {} x {}", protocol, nodes, ranks);
    latencies.add(name, text, seconds(0), number(row, "latency_us") * 1e-6);
    rates.add(name, text, (seconds(kLarge) - seconds(0)) / kLarge, 1 / (number(row, "algbw_GBps_peak") * 1e9));
  }
}

void run(const Arguments& given) {
  const std::string folder = given.text(1, "../shared/published");
  const bool rows = given.count() > 1;
  Errors measured(rows), latencies(rows), rates(rows);
  add_bus_bandwidths(folder, measured);
  add_traces(folder, measured);
  add_library_model(folder, latencies, rates);
  measured.print("seconds of collectives, measured");
  latencies.print("NCCL's own model of H100 clusters with its 11 constants: latency");
  rates.print("the same: seconds of a byte");
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "[FOLDER [ROWS]]", /*required=*/0, partita::run);
}
