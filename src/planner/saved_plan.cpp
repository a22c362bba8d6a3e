#include "planner/saved_plan.h"

#include "compiler/plan/network_names.h"
#include "ir/ops/registry.h"
#include "planner/explain/differences.h"
#include "planner/network_planner.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

/// Returns the factors of a cut that ranks of `data` share: "A=data.0 " for "A={data.0,tensor} j={tensor}"; "" if there
/// are none.
std::string cuts_over_data(std::string_view cut) {
  std::string result, factor;
  for (size_t at = 0; at < cut.size();) {
    const size_t end = std::min(cut.find_first_of(" ={},", at), cut.size());
    const std::string_view word = cut.substr(at, end - at);
    if (end < cut.size() && cut[end] == '=') {
      factor = word;
    } else if (word == "data" || word.starts_with("data.")) {
      result += fmt::format("{}={} ", factor, word);
    }
    at = end + 1;
  }
  return result;
}

PlanRequest request_of(const PlanFile& file, const std::string& path, const std::string& cluster) {
  const auto require = [&](std::string_view line, const std::string& text) {
    if (!text.empty()) return;
    throw InvalidArgument("[{}] the plan does not say what it is for, got no line '{}', expected one", file.path, line);
  };
  require("model", file.model);
  require("cluster", cluster);
  return {.model = file.model,
          .cluster = cluster,
          .ranks = file.ranks,
          .batch = file.batch,
          .dtype = file.dtype,
          .reduce_dtype = file.reduce_dtype,
          .tf32 = file.tf32,
          .where = path};
}

}  // namespace

SavedPlan::SavedPlan(const std::string& path, const std::string& cluster) : file_(read_plan_file(path)) {
  const PlanRequest request = request_of(file_, path, cluster.empty() ? file_.cluster : cluster);
  planner_ = std::make_shared<NetworkPlanner>(request);
  if (file_.network && *file_.network != planner_->fingerprint()) {
    throw InvalidArgument(
        "[{}:{}] the plan is for another network than {} with batch {}, got its fingerprint, expected that of this "
        "network, or no such line",
        path, file_.network_line, file_.model, file_.batch);
  }
  if (!file_.cuts) return;
  planner_->require_trainable(file_);
  compare_cuts(*planner_->plan_file(planner_->priced(file_.configuration)).cuts);
  if (unpriced_nodes_ > 0 || (edited_nodes_ == 0 && !has_searched_cuts(file_.configuration))) return;
  edited_ = std::make_shared<NetworkPlanner>(request, file_.cuts, &planner_->whole_cluster());
}

PlannedJob SavedPlan::job() const {
  NetworkPlanner& pricer = edited_ ? *edited_ : *planner_;
  PlannedJob job{.priced = pricer.priced(file_.configuration),
                 .memory = pricer.memory(),
                 .file = file_,
                 .planner = planner_,
                 .edited_planner = edited_};
  job.fits = job.priced.price.peak_memory() <= job.memory;
  return job;
}

void SavedPlan::compare_cuts(const NamedCuts& configured) {
  const auto texts = [&](const NamedCuts& cuts) { return cuts_of_nodes(cuts, planner_->forward(), all_ops()); };
  const bool same_axes = file_.cuts->mesh == configured.mesh;  // those that prices use
  const std::vector<std::string> given = texts(*file_.cuts), made = texts(configured);
  const std::vector<std::string> names = network_names(planner_->forward());
  for (size_t n = 0; n < given.size(); ++n) {
    if (given[n] == made[n]) continue;
    if (edited_nodes_++ == 0) first_edited_ = names[n];
    if (same_axes && cuts_over_data(given[n]) == cuts_over_data(made[n])) continue;
    if (unpriced_nodes_++ == 0) first_unpriced_ = names[n];
  }
}

std::string SavedPlan::edits() const {
  if (edited_nodes_ == 0) return "";
  return fmt::format("{} nodes are cut differently from the configuration, {} first", edited_nodes_, first_edited_);
}

std::string SavedPlan::warning() const {
  if (unpriced_nodes_ > 0) {
    return fmt::format(
        "[{}] the ranks of 'data' divide other work than the configuration says, got {} nodes, {} first, expected "
        "none: prices are for the configuration, those of --op for its alternatives",
        file_.path, unpriced_nodes_, first_unpriced_);
  }
  const PricedPlan priced = job().priced;
  const std::vector<std::vector<std::string>>& stages = priced.stages;
  for (size_t stage = 0; stage < file_.stages.size() && file_.stages.size() == stages.size(); ++stage) {
    if (file_.stages[stage] == stages[stage]) continue;
    return fmt::format("[{}] stage {} has other layers than the prices assume, got {}, expected {}", file_.path, stage,
                       fmt::join(file_.stages[stage], " "), fmt::join(stages[stage], " "));
  }
  if (file_.configuration.recompute.is_counted() && file_.recomputed != priced.recomputed) {
    return fmt::format("[{}] other layers are recomputed than the prices assume, expected as many as {} counts",
                       file_.path, print(file_.configuration.recompute));
  }
  return "";
}

PlanDifferences diff(const SavedPlan& first, const SavedPlan& second) {
  const PlannedJob before = first.job(), now = second.job();
  const Graph &own = before.planner->forward(), &other = now.planner->forward();
  const bool alike = network_names(own) == network_names(other);
  const Price &old_price = before.priced.price, &new_price = now.priced.price;
  PlanDifferences differences{print_differences(first.file(), second.file(), alike ? &own : nullptr, all_ops())};
  differences.text +=
      fmt::format("step           {} -> {} ({:+.1f} %)\n", print_seconds(old_price.step_seconds),
                  print_seconds(new_price.step_seconds), 100 * (new_price.step_seconds / old_price.step_seconds - 1));
  differences.text += fmt::format("memory         {} -> {}\n", print_memory(old_price.peak_memory()),
                                  print_memory(new_price.peak_memory()));
  for (const SavedPlan* saved : {&first, &second}) {
    if (std::string warning = saved->warning(); !warning.empty()) differences.warnings.push_back(std::move(warning));
  }
  return differences;
}

}  // namespace partita
