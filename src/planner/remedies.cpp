
#include <algorithm>
#include <cmath>

#include "planner/cluster/presets.h"
#include "planner/network_planner.h"
#include "planner/planner.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr int64_t kMaxFactor = 32;  // by which nodes or the batch change

/// Whether a search finds a configuration that fits; false if the request is refused with InvalidArgument. `opened` is
/// the cluster of the request, null to open it. Throws MissingFile or InvalidFile for the file of a cluster that is
/// opened or of a graph, or a launcher's rank table. Where memory is measured, throws ThreadFailures.
bool fits(const PlanRequest& request, const Cluster* opened) {
  try {
    return NetworkPlanner(request, /*cuts=*/std::nullopt, opened)
        .searched(request.pins, /*runner_up=*/false, /*any=*/true)
        .best.has_value();
  } catch (const InvalidArgument&) {
    return false;
  }
}

/// The bytes in GiB, rounded up to four digits.
std::string print_enough(double bytes) {
  const double gib = bytes / kGiB, digit = std::pow(10, std::floor(std::log10(gib)) - 3);
  return fmt::format("{:.5g}", std::ceil(gib / digit) * digit);
}

std::optional<Remedy> more_nodes(const NetworkPlanner& planner) {
  PlanRequest request = planner.request();
  if (is_cluster_file(request.cluster) || request.ranks > 0) return std::nullopt;
  const std::string before = request.cluster;
  for (int64_t factor = 2; factor <= kMaxFactor; factor *= 2) {
    request.cluster = with_more_nodes(before, factor);
    if (planner.cluster().cores > 0) request.memory = planner.memory();  // per rank, not per host
    if (fits(request, /*opened=*/nullptr)) {
      return Remedy{static_cast<double>(factor), fmt::format("--cluster {}", request.cluster)};
    }
  }
  return std::nullopt;
}

std::optional<Remedy> smaller_batch(const NetworkPlanner& planner) {
  if (planner.is_graph()) return std::nullopt;  // the graph fixes its rows
  PlanRequest request = planner.request();
  for (int64_t factor = 2; factor <= kMaxFactor && planner.batch() / factor > 0; factor *= 2) {
    if (planner.batch() % factor != 0) break;
    request.batch = planner.batch() / factor;
    if (fits(request, &planner.whole_cluster())) {
      return Remedy{static_cast<double>(factor), fmt::format("--batch {}", request.batch)};
    }
  }
  return std::nullopt;
}

/// The name of each pin in use, as in --pin, with a function that removes it, in a fixed order.
std::vector<std::pair<std::string, std::function<void(Pins&)>>> loosenings(const Pins& pins) {
  std::vector<std::pair<std::string, std::function<void(Pins&)>>> result;
  const auto add = [&](std::string name, const auto& member) {
    if (pins.*member) result.emplace_back(std::move(name), [member](Pins& to) { (to.*member).reset(); });
  };
  add("micro_batch", &Pins::micro_batch);
  add("recompute", &Pins::recompute);
  add("zero", &Pins::zero);
  add("order", &Pins::order);
  add("interleave", &Pins::interleave);
  add("deal", &Pins::layer_split);
  add("sequence_parallel", &Pins::sequence_parallel);
  add("links", &Pins::links);
  add("cuts", &Pins::cuts);
  add("squeeze", &Pins::squeeze);
  add("data", &Pins::data);
  add("tensor", &Pins::tensor);
  add("context", &Pins::context);
  add("pipeline", &Pins::pipeline);
  return result;
}

}  // namespace

std::vector<Remedy> remedies(const PlannedJob& job) {
  NetworkPlanner& planner = *job.planner;
  const Pins& pins = planner.request().pins;
  const double least = job.priced.fullest();
  std::vector<Remedy> all;
  // Each of the others would compile programs for minutes.
  if (job.priced.compiled) return {{least / job.memory, fmt::format("--memory {}", print_enough(least))}};
  for (const auto& [name, loosen] : loosenings(pins)) {
    Pins looser = pins;
    loosen(looser);
    try {
      const ConfigurationSearch found = planner.searched(looser);
      if (found.best) all.push_back({1, fmt::format("no {} in --pin: {}", name, print(found.best->configuration))});
    } catch (const InvalidArgument&) {
    }
  }
  all.push_back({least / job.memory, fmt::format("--memory {}", print_enough(least))});
  if (const auto nodes = more_nodes(planner)) all.push_back(*nodes);
  if (const auto batch = smaller_batch(planner)) all.push_back(*batch);
  std::ranges::stable_sort(all, [](const Remedy& a, const Remedy& b) { return a.factor < b.factor; });
  return all;
}

std::string print_excess(const PlannedJob& job) {
  if (const std::optional<CompiledMemory>& compiled = job.priced.compiled) {
    return fmt::format(
        "[plan] {} missing, got {} of each device, expected {} as compiled: states {}, values between programs {}, "
        "temporaries {} under {}",
        print_memory(compiled->bytes() - job.memory), print_memory(job.memory), print_memory(compiled->bytes()),
        print_memory(compiled->states), print_memory(compiled->values), print_memory(compiled->temporaries),
        print(job.priced.configuration));
  }
  const std::vector<StageMemory>& groups = job.priced.price.memory;
  const auto largest = std::ranges::max_element(
      groups, [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
  const std::pair<std::string_view, double> parts[] = {{"parameters", largest->parameters},
                                                       {"gradients", largest->gradients},
                                                       {"optimizer", largest->optimizer},
                                                       {"activations", largest->activations},
                                                       {"workspace", largest->workspace}};
  std::string text;
  for (const auto& [name, bytes] : parts) {
    if (bytes > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, print_memory(bytes));
  }
  return fmt::format("[plan] {} missing on group {} of {}, got {} of each device, expected {}: {} under {}",
                     print_memory(largest->total() - job.memory), largest - groups.begin(), groups.size(),
                     print_memory(job.memory), print_memory(largest->total()), text, print(job.priced.configuration));
}

std::string refusal_of(const PlannedJob& job) {
  std::string text = fmt::format("[plan] nothing fits; at best {}", print_excess(job).substr(7));
  const std::vector<Remedy> all = remedies(job);
  for (size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? ". It would fit with " : ", or with ", all[i].text);
  return text;
}

void require_fit(const PlannedJob& job) {
  if (!job.fits) throw InvalidArgument(refusal_of(job));
}

}  // namespace partita
