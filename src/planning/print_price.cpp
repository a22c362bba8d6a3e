#include "planning/print_price.h"

#include <nlohmann/json.hpp>

#include "planning/common_scope.h"

namespace partita {
namespace {

std::string print_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.1f} us", seconds * 1e6);
}

std::string print_memory(double bytes) {
  constexpr double kMiB = 1 << 20;
  return bytes < 1024 * kMiB ? fmt::format("{:.1f} MiB", bytes / kMiB) : fmt::format("{:.2f} GiB", bytes / kMiB / 1024);
}

/// Where the copies of a unit come from.
std::string name_of_unit(const FoldedGraph& folded, size_t unit) {
  const FoldedUnit& range = folded.units[unit];
  const std::string scope = common_scope(folded.graph, range.begin, range.end);
  return scope.empty() ? "(all)" : scope;
}

std::string print_layers(const Price& price, const FoldedGraph& folded, size_t stage) {
  std::string text;
  for (size_t u = 0; u < folded.units.size(); ++u) {
    const size_t count = price.layers[stage][u];
    if (count == 0) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name_of_unit(folded, u),
                        count > 1 ? fmt::format(" x {}", count) : "");
  }
  return text;
}

}  // namespace

std::string print(const PricedPlan& plan, const FoldedGraph& folded) {
  const Price& price = plan.price;
  const Breakdown& parts = price.breakdown;
  std::string text =
      fmt::format("{} on {} ranks of {}, {} rows a step\n", plan.model, plan.ranks, plan.cluster, plan.batch);
  if (!plan.fitted.empty())
    text += fmt::format("software       {}, {} fitted constants\n", plan.software, plan.fitted.size());
  text += fmt::format("configuration  {}\n", print(plan.configuration));
  text += fmt::format("step           {}  ({:.1f} Tflop/s of each device)\n", print_seconds(price.step_seconds),
                      price.tflops_per_device);
  const auto line = [&](std::string_view name, double seconds) {
    text +=
        fmt::format("  {:<20} {:>12} {:6.1f} %\n", name, print_seconds(seconds), 100 * seconds / price.step_seconds);
  };
  line("compute", parts.compute);
  if (parts.waiting > 0) line("waiting for host", parts.waiting);
  for (const auto& [kind, seconds] : parts.communication) {
    if (seconds > 0) line(name_of(kind), seconds);
  }
  if (parts.bubble > 0) line("bubble", parts.bubble);
  line("update", parts.update);
  text += fmt::format("memory         {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "parameters", "gradients",
                      "optimizer", "activations", "workspace", "all");
  for (size_t group = 0; group < price.memory.size(); ++group) {
    const StageMemory& memory = price.memory[group];
    text += fmt::format("  group {:<6}", group);
    for (double bytes :
         {memory.parameters, memory.gradients, memory.optimizer, memory.activations, memory.workspace, memory.total()})
      text += fmt::format(" {:>12}", print_memory(bytes));
    text += "\n";
  }
  if (price.layers.size() > 1) {
    for (size_t stage = 0; stage < price.layers.size(); ++stage)
      text += fmt::format("stage {:<4} {}\n", stage, print_layers(price, folded, stage));
  }
  return text;
}

std::string to_json(const PricedPlan& plan) {
  nlohmann::ordered_json communication = nlohmann::ordered_json::object();
  for (const auto& [kind, seconds] : plan.price.breakdown.communication)
    communication[std::string(name_of(kind))] = seconds;
  std::vector<int64_t> memory;
  for (const StageMemory& stage : plan.price.memory) memory.push_back(static_cast<int64_t>(stage.total()));
  nlohmann::ordered_json parts_of_memory = nlohmann::ordered_json::array();
  for (const StageMemory& stage : plan.price.memory) {
    parts_of_memory.push_back({{"parameters", static_cast<int64_t>(stage.parameters)},
                               {"gradients", static_cast<int64_t>(stage.gradients)},
                               {"optimizer", static_cast<int64_t>(stage.optimizer)},
                               {"activations", static_cast<int64_t>(stage.activations)},
                               {"workspace", static_cast<int64_t>(stage.workspace)}});
  }
  nlohmann::ordered_json fitted = nlohmann::ordered_json::object();
  for (const auto& [key, value] : plan.fitted) fitted[key] = value;
  const Breakdown& parts = plan.price.breakdown;
  const nlohmann::ordered_json json{{"model", plan.model},
                                    {"cluster", plan.cluster},
                                    {"software", plan.software},
                                    {"fitted", fitted},
                                    {"ranks", plan.ranks},
                                    {"batch", plan.batch},
                                    {"step_seconds", plan.price.step_seconds},
                                    {"lower_bound_seconds", plan.lower_bound_seconds},
                                    {"search_seconds", plan.search_seconds},
                                    {"peak_memory_bytes", memory},
                                    {"memory_bytes", parts_of_memory},
                                    {"tflops_per_device", plan.price.tflops_per_device},
                                    {"breakdown",
                                     {{"compute", parts.compute},
                                      {"waiting", parts.waiting},
                                      {"communication", communication},
                                      {"bubble", parts.bubble},
                                      {"update", parts.update}}},
                                    {"plan", print(plan.configuration)}};
  return json.dump(2) + "\n";
}

}  // namespace partita
