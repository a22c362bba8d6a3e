#include "planner/cluster/software.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "base/plain_text.h"

namespace partita {
namespace {

/// Factors of the ops of a loss: with 16-bit activations, logits and losses are still f32, and are read once more.
const std::map<std::string, double, std::less<>> kWideLoss = {{"sub", 2.9}, {"exp", 2.9}, {"cross_entropy_grad", 2.9}};

/// The costs that all versions of Megatron have in common, according to their source code.
SoftwareCosts megatron() {
  SoftwareCosts software;
  software.recomputes_whole = software.regathers = software.joins_products = software.keeps_gradients = true;
  software.overlaps_micro_batches = true;
  software.mask_bytes = 1;
  software.fused = {"bias_add"};
  software.op_factor = kWideLoss;
  return software;
}

/// The costs of Megatron-LM of 2021 and 2022. Bytes per score are those that its kernels read and write. Forward:
/// products 2 + 2, softmax 2 + 2, dropout 2 + 3. Backward: products 2 x 4, dropout 3 + 2, softmax 4 + 2. Kept: the
/// softmax, the mask and the masked softmax.
SoftwareCosts megatron_lm() {
  SoftwareCosts software = megatron();
  software.step_overhead = 1e-3;
  software.host_overhead = 56.5e-6;
  software.rank_skew = 4e-6;
  software.transfer_overhead = 0.65e-3;
  software.reduces_after_backward = true;
  software.waits_for_transfers = true;
  software.scores = {
      .forward_bytes = 13, .backward_bytes = 19, .kept_bytes = 5, .kernels = 4, .group = 4, .split_kernels = 6};
  return software;
}

SoftwareCosts megatron_core() {
  SoftwareCosts software = megatron();
  software.step_overhead = 1e-3;
  software.host_overhead = 20e-6;
  software.product_overlap = 1;
  software.prefetches_parameters = true;
  return software;
}

struct NamedSoftware {
  std::string_view name, years;
  SoftwareCosts (*make)();
  std::vector<std::string> fitted;  // keys of fitted values
  int64_t max_level = 3;            // highest level of optimizer sharding
};

const std::vector<NamedSoftware>& all_software() {
  static const std::vector<NamedSoftware> kAll = {
      {kOwnSoftware, "", [] { return SoftwareCosts(); }, {}},
      {"megatron-lm",
       "2021 and 2022",
       megatron_lm,
       {"step_overhead", "host_overhead", "rank_skew", "transfer_overhead", "scores.split_kernels"},
       1},
      {"megatron-core", "2024", megatron_core, {"product_overlap"}, 1}};
  return kAll;
}

/// Returns the software of this name; null for an unknown one.
const NamedSoftware* find_software(std::string_view name) {
  for (const NamedSoftware& software : all_software()) {
    if (software.name == name) return &software;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> software_names() {
  std::vector<std::string> names;
  for (const NamedSoftware& software : all_software()) names.emplace_back(software.name);
  return names;
}

std::string years_of_software(std::string_view name) {
  const NamedSoftware* found = find_software(name);
  return found == nullptr ? "" : std::string(found->years);
}

int64_t max_level_of(std::string_view name) {
  const NamedSoftware* found = find_software(name);
  return (found == nullptr ? all_software().front() : *found).max_level;
}

void use_software(Cluster& cluster, std::string_view name) {
  const NamedSoftware* found = find_software(lower_case(name));
  if (found == nullptr) {
    const std::vector<std::string> names = software_names();
    throw unknown_name("[cluster] unknown software", name, fmt::format("one of {}", fmt::join(names, " ")), names);
  }
  SoftwareCosts costs = found->make();
  const SoftwareCosts& library = cluster.software;
  costs.name = found->name;
  costs.algorithms = library.algorithms;
  costs.overlap_slowdown = library.overlap_slowdown;
  costs.tree_share = library.tree_share;
  costs.link_share = library.link_share;
  costs.messages_at_once = library.messages_at_once;
  costs.switch_overhead = library.switch_overhead;
  cluster.software = std::move(costs);
  std::erase_if(cluster.fitted, [](const std::string& key) { return key.starts_with("software."); });
  for (const std::string& field : found->fitted) cluster.fitted.push_back("software." + field);
}

}  // namespace partita
