#include "planner/pricing/search/price_notes.h"

#include <array>

#include "planner/cluster/software.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr double kDecides = 0.1;  // share of a step from which on a note is made

std::string of_tf32(const DeviceSpec& device) {
  constexpr double kTera = 1e12;
  return fmt::format(
      "products of f32 are priced in TF32, which keeps 10 bits of each factor, at up to {:.4g} Tflop/s of a {}; with "
      "--tf32 false in f32, at up to {:.4g}",
      device.peak.at(DType::f32) / kTera, device.name, device.plain_f32 / kTera);
}

std::string of_host(const SoftwareCosts& software, double waiting, double step) {
  return fmt::format(
      "{:.0f} % of a step the devices wait for their hosts, which take {} to issue a kernel in {}: more or faster "
      "devices do not shorten that",
      100 * waiting / step, print_seconds(software.host_overhead), software.name);
}

std::string of_overhead(const SoftwareCosts& software, double overhead, double step) {
  return fmt::format("{:.0f} % of a step is the fixed overhead of {}: {}", 100 * overhead / step, software.name,
                     print_seconds(overhead));
}

/// The note on groups of ranks that share rows and span nodes; "" if none does.
std::string of_nodes(const Cluster& cluster, const Configuration& configuration) {
  const int64_t ranks = configuration.tensor * configuration.context, node = cluster.levels.front().size;
  if (ranks == 1 || cluster.levels.size() == 1 || node % ranks == 0 || configuration.ranks() <= node) return "";
  const std::string which = configuration.context == 1 ? fmt::format("tensor={}", configuration.tensor)
                            : configuration.tensor == 1
                                ? fmt::format("context={}", configuration.context)
                                : fmt::format("context={} x tensor={}", configuration.context, configuration.tensor);
  return fmt::format(
      "groups of {} span several nodes of {} ranks: what they send for every layer goes over the {} links", which, node,
      cluster.levels[1].name);
}

std::string of_unmeasured(const DeviceSpec& device) {
  return fmt::format(
      "no step of {} has been measured on {}: it may take several times as long, since waits between programs have no "
      "price",
      kOwnSoftware, device.name);
}

/// Returns how to ask for the price of this library's programs.
std::string_view own_price(const NotedPrice& of) {
  return of.is_preset ? "@partita after the cluster's name" : "the cluster's file without [software]";
}

/// The note on a level of optimizer sharding that the software lacks; "" if it has it.
std::string of_level(const NotedPrice& of, int64_t zero) {
  const SoftwareCosts& software = of.cluster.software;
  if (zero <= max_level_of(software.name)) return "";
  return fmt::format(
      "{} has no level {} of optimizer sharding, and is priced as if it had: {} prices a program that has it",
      software.name, zero, own_price(of));
}

/// The note on attention that takes much of the operations; "" if it takes little.
std::string of_attention(const NotedPrice& of) {
  constexpr double kInMemory = 0.1, kMasked = 0.2;
  const SoftwareCosts& software = of.cluster.software;
  if (software.scores.kernels > 0 && of.attention > kInMemory) {
    return fmt::format(
        "{:.0f} % of the operations are attention, whose scores {} keeps in memory: {} is nearer to software that "
        "fuses its attention",
        100 * of.attention, software.name, own_price(of));
  }
  if (of.attention <= kMasked) return "";
  return fmt::format(
      "{:.0f} % of the operations are attention, and all scores count: kernels that skip those under a causal "
      "mask take up to half of these less",
      100 * of.attention);
}

}  // namespace

std::vector<std::string> price_notes(const NotedPrice& of, const Configuration& configuration, const Price& price) {
  const Cluster& cluster = of.cluster;
  std::vector<std::string> notes;
  if (of.precision.compute == DType::f32 && cluster.device.plain_f32 > 0) notes.push_back(of_tf32(cluster.device));
  if (cluster.cores == 0 && cluster.software.name == kOwnSoftware) notes.push_back(of_unmeasured(cluster.device));
  const double step = price.step_seconds, waiting = price.breakdown.waiting;
  if (waiting > kDecides * step) notes.push_back(of_host(cluster.software, waiting, step));
  const double overhead = cluster.overhead_of_step(configuration.ranks());
  if (overhead > kDecides * step) notes.push_back(of_overhead(cluster.software, overhead, step));
  for (std::string& text :
       std::array{of_nodes(cluster, configuration), of_level(of, configuration.zero), of_attention(of)}) {
    if (!text.empty()) notes.push_back(std::move(text));
  }
  return notes;
}

}  // namespace partita
