#include "planner/pricing/search/print_price.h"

#include <nlohmann/json.hpp>

#include "planner/cluster/software.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr size_t kMaxShownStages = 16;

nlohmann::ordered_json parts_of(const std::vector<StageMemory>& memory) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const StageMemory& stage : memory) {
    parts.push_back({{"parameters", static_cast<int64_t>(stage.parameters)},
                     {"gradients", static_cast<int64_t>(stage.gradients)},
                     {"optimizer", static_cast<int64_t>(stage.optimizer)},
                     {"activations", static_cast<int64_t>(stage.activations)},
                     {"workspace", static_cast<int64_t>(stage.workspace)}});
  }
  return parts;
}

/// The recomputed layers of a stage: " (recomputed: 3 full, 1 selective)"; "" if there are none.
std::string print_recomputed(const StageLayers& stage) {
  std::string text;
  for (const Recompute policy : {Recompute::full, Recompute::selective}) {
    size_t count = 0;
    for (const UnitCopies& copies : stage) count += copies.of(policy);
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? " (recomputed: " : ", ", count, name_of(policy));
  }
  return text.empty() ? "" : text + ")";
}

std::string print_compiled(const CompiledMemory& memory) {
  return fmt::format(
      "compiled       {} by {}, {} planned ({:+.1f} %): states {}, values between programs {}, "
      "temporaries {}\n",
      print_memory(memory.bytes()), memory.compiler, print_memory(memory.planned),
      100 * (memory.bytes() / memory.planned - 1), print_memory(memory.states), print_memory(memory.values),
      print_memory(memory.temporaries));
}

nlohmann::ordered_json json_of(const std::optional<CompiledMemory>& memory) {
  if (!memory) return nullptr;
  return {{"compiler", memory->compiler},
          {"planned_bytes", static_cast<int64_t>(memory->planned)},
          {"bytes", static_cast<int64_t>(memory->bytes())},
          {"states", static_cast<int64_t>(memory->states)},
          {"values", static_cast<int64_t>(memory->values)},
          {"temporaries", static_cast<int64_t>(memory->temporaries)}};
}

}  // namespace

std::string print_software(const PricedPlan& plan) {
  const std::string years = years_of_software(plan.software);
  std::string text = plan.software + (years.empty() ? "" : " of " + years);
  if (!plan.fitted.empty()) text += fmt::format(", {} fitted constants", plan.fitted.size());
  return text;
}

std::string print(const PricedPlan& plan) {
  const Price& price = plan.price;
  const Breakdown& parts = price.breakdown;
  std::string text =
      fmt::format("{} on {} ranks of {}, {} rows a step\n", plan.model, plan.ranks, plan.cluster, plan.batch);
  text += fmt::format("software       {}\n", print_software(plan));
  text += fmt::format("configuration  {}\n", print(plan.configuration));
  if (plan.configuration.ranks() < plan.ranks) {
    text += fmt::format("idle           {} ranks: sharing {} rows with them takes longer\n",
                        plan.ranks - plan.configuration.ranks(), plan.batch);
  }
  text += fmt::format("step           {}  ({:.1f} Tflop/s of each device)\n", print_seconds(price.step_seconds),
                      price.tflops_per_device);
  if (plan.lower_bound_seconds > 0) {
    text += fmt::format("lower bound    {}, {:.1f} % below\n", print_seconds(plan.lower_bound_seconds),
                        100 * (1 - plan.lower_bound_seconds / price.step_seconds));
  }
  for (const std::string& note : plan.notes) text += fmt::format("note           {}\n", note);
  if (!plan.searched.empty()) text += fmt::format("searched       {}\n", plan.searched);
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
  if (plan.compiled) text += print_compiled(*plan.compiled);
  for (size_t stage = 0; stage < plan.stages.size() && plan.stages.size() > 1; ++stage) {
    if (plan.stages.size() > kMaxShownStages && stage == kMaxShownStages / 2) {
      text += "..\n";
      stage = plan.stages.size() - kMaxShownStages / 2;
    }
    text += fmt::format("stage {:<4} {}{}\n", stage, fmt::join(plan.stages[stage], " "),
                        plan.configuration.recompute.is_counted() ? print_recomputed(price.layers[stage]) : "");
  }
  for (const auto& [policy, layers] : plan.recomputed) {
    if (plan.configuration.recompute.is_counted())
      text += fmt::format("recompute  {} {}\n", name_of(policy), fmt::join(layers, " "));
  }
  return text;
}

std::string to_json(const PricedPlan& plan) {
  nlohmann::ordered_json communication = nlohmann::ordered_json::object();
  for (const auto& [kind, seconds] : plan.price.breakdown.communication)
    communication[std::string(name_of(kind))] = seconds;
  std::vector<int64_t> memory;
  for (const StageMemory& stage : plan.price.memory) memory.push_back(static_cast<int64_t>(stage.total()));
  nlohmann::ordered_json recomputed = nlohmann::ordered_json::object();
  for (const auto& [policy, layers] : plan.recomputed) recomputed[std::string(name_of(policy))] = layers;
  nlohmann::ordered_json fitted = nlohmann::ordered_json::object();
  for (const auto& [key, value] : plan.fitted) fitted[key] = value;
  const Breakdown& parts = plan.price.breakdown;
  const nlohmann::ordered_json json{{"model", plan.model},
                                    {"cluster", plan.cluster},
                                    {"software", plan.software},
                                    {"software_years", years_of_software(plan.software)},
                                    {"fitted", fitted},
                                    {"ranks", plan.ranks},
                                    {"batch", plan.batch},
                                    {"step_seconds", plan.price.step_seconds},
                                    {"lower_bound_seconds", plan.lower_bound_seconds},
                                    {"searched", plan.searched},
                                    {"search_seconds", plan.search_seconds},
                                    {"peak_memory_bytes", memory},
                                    {"memory_bytes", parts_of(plan.price.memory)},
                                    {"single_layers_bytes", parts_of(plan.price.single_layers)},
                                    {"tflops_per_device", plan.price.tflops_per_device},
                                    {"breakdown",
                                     {{"compute", parts.compute},
                                      {"waiting", parts.waiting},
                                      {"communication", communication},
                                      {"bubble", parts.bubble},
                                      {"update", parts.update}}},
                                    {"recomputed", recomputed},
                                    {"notes", plan.notes},
                                    {"compiled_memory", json_of(plan.compiled)},
                                    {"plan", print(plan.configuration)}};
  // A path need not be UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace partita
