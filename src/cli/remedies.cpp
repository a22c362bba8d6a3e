#include "cli/remedies.h"

#include <algorithm>
#include <cmath>

#include "planning/quantities.h"

namespace partita {
namespace {

constexpr int64_t kMostFactor = 32;  // of nodes, and of the batch

/// A change that makes something fit, and how large it is: 1 changes nothing.
struct Remedy {
  double factor = 1;
  std::string text;
};

/// A cluster by name: "a100-80:4@megatron-core".
struct NamedCluster {
  explicit NamedCluster(const std::string& text) {
    const size_t at = std::min(text.find('@'), text.size());
    const size_t colon = std::min(text.find(':'), at);
    preset = text.substr(0, colon);
    software = text.substr(at);
    if (colon < at) nodes = std::max<int64_t>(1, std::strtoll(text.c_str() + colon + 1, nullptr, 10));
  }
  std::string with(int64_t times) const { return fmt::format("{}:{}{}", preset, nodes * times, software); }

  std::string preset, software;
  int64_t nodes = 1;
};

/// Whether something fits; a request that is refused for another reason does not.
std::optional<ConfigurationSearch> fits(const PlannerRequest& request, const Pins& pins) {
  try {
    Planner planner(request);
    ConfigurationSearch search = planner.searched(pins);
    if (search.best) return search;
  } catch (const InvalidArgument&) {
  }
  return std::nullopt;
}

/// GiB, no fewer than these bytes, in four digits.
std::string print_enough(double bytes) {
  constexpr double kGiB = 1 << 30;
  const double gib = bytes / kGiB, digit = std::pow(10, std::floor(std::log10(gib)) - 3);
  return fmt::format("{:.5g}", std::ceil(gib / digit) * digit);
}

std::optional<Remedy> more_nodes(const Planner& planner, const Pins& pins) {
  PlannerRequest request = planner.request();
  const bool is_file = request.cluster.find('/') != std::string::npos || request.cluster.ends_with(".toml");
  if (is_file || request.ranks > 0) return std::nullopt;
  const NamedCluster before(request.cluster);
  for (int64_t factor = 2; factor <= kMostFactor; factor *= 2) {
    request.cluster = before.with(factor);
    if (planner.cluster().cores > 0) request.memory = planner.memory();  // of a rank: its hosts are others
    if (fits(request, pins)) {
      return Remedy{static_cast<double>(factor), fmt::format("--cluster {}", request.cluster)};
    }
  }
  return std::nullopt;
}

std::optional<Remedy> smaller_batch(const Planner& planner, const Pins& pins) {
  if (planner.is_graph()) return std::nullopt;  // its rows are a part of it
  PlannerRequest request = planner.request();
  for (int64_t factor = 2; factor <= kMostFactor && planner.batch() / factor > 0; factor *= 2) {
    if (planner.batch() % factor != 0) break;
    request.batch = planner.batch() / factor;
    if (fits(request, pins)) return Remedy{static_cast<double>(factor), fmt::format("--batch {}", request.batch)};
  }
  return std::nullopt;
}

/// The pins, each with a way to let it go.
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
  add("sequence_parallel", &Pins::sequence_parallel);
  add("data", &Pins::data);
  add("tensor", &Pins::tensor);
  add("context", &Pins::context);
  add("pipeline", &Pins::pipeline);
  return result;
}

std::vector<Remedy> remedies(Planner& planner, const Pins& pins, const ConfigurationSearch& search) {
  std::vector<Remedy> all;
  for (const auto& [name, loosen] : loosenings(pins)) {
    Pins looser = pins;
    loosen(looser);
    try {
      const ConfigurationSearch found = planner.searched(looser);
      if (found.best) all.push_back({1, fmt::format("no {} in --pin: {}", name, print(found.best->configuration))});
    } catch (const InvalidArgument&) {
    }
  }
  const double least = search.least->price.peak_memory();
  all.push_back({least / planner.memory(), fmt::format("--memory {}", print_enough(least))});
  if (const auto nodes = more_nodes(planner, pins)) all.push_back(*nodes);
  if (const auto batch = smaller_batch(planner, pins)) all.push_back(*batch);
  std::stable_sort(all.begin(), all.end(), [](const Remedy& a, const Remedy& b) { return a.factor < b.factor; });
  return all;
}

}  // namespace

std::string print_excess(const Planner& planner, const PricedPlan& plan) {
  const std::vector<StageMemory>& groups = plan.price.memory;
  const auto largest = std::max_element(
      groups.begin(), groups.end(), [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
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
                     print_memory(largest->total() - planner.memory()), largest - groups.begin(), groups.size(),
                     print_memory(planner.memory()), print_memory(largest->total()), text, print(plan.configuration));
}

void refuse_memory(Planner& planner, const Pins& pins, const ConfigurationSearch& search) {
  std::string text = fmt::format("[plan] nothing fits; at the least {}",
                                 print_excess(planner, planner.priced(*search.least)).substr(7));
  const std::vector<Remedy> all = remedies(planner, pins, search);
  for (size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? ". It would fit with " : ", or with ", all[i].text);
  throw InvalidArgument(text);
}

}  // namespace partita
