#include "cli/saved_plan.h"

#include "explain/differences.h"
#include "ops/registry.h"

namespace partita {
namespace {

/// Of "A={data.0,tensor} j={tensor}" the factors that ranks of `data` share: "A=data.0".
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

PlannerRequest request_of(const PlanFile& file, const std::string& cluster) {
  const auto require = [&](std::string_view line, const std::string& text) {
    if (!text.empty()) return;
    throw InvalidArgument(
        fmt::format("[{}] the plan does not say what it is for, got no line '{}', expected one", file.path, line));
  };
  require("model", file.model);
  require("cluster", cluster);
  return {.model = file.model,
          .cluster = cluster,
          .dtype = std::string(name_of(file.dtype)),
          .batch = file.batch,
          .ranks = file.ranks};
}

}  // namespace

SavedPlan::SavedPlan(const std::string& path, const std::string& cluster) : file_(read_plan_file(path)) {
  const PlannerRequest request = request_of(file_, cluster.empty() ? file_.cluster : cluster);
  planner_ = std::make_unique<Planner>(request, path);
  if (file_.network && *file_.network != planner_->fingerprint()) {
    throw InvalidArgument(
        fmt::format("[{}:{}] the plan is for another network than {} with batch {}, got its fingerprint, expected that "
                    "of this network, or no such line",
                    path, file_.network_line, file_.model, file_.batch));
  }
  if (!file_.cuts) return;
  planner_->require_trainable(file_);
  compare_cuts(*planner_->plan_file(planner_->priced(file_.configuration)).cuts);
  if (unpriced_nodes_ > 0 || (edited_nodes_ == 0 && !has_searched_cuts(file_.configuration))) return;
  PlannerRequest own = request;
  own.cuts = file_.cuts;
  edited_ = std::make_unique<Planner>(own, path);
}

void SavedPlan::compare_cuts(const NamedCuts& configured) {
  const auto texts = [&](const NamedCuts& cuts) { return cuts_of_nodes(cuts, planner_->forward(), all_ops()); };
  const bool same_axes = file_.cuts->mesh == configured.mesh;  // those that prices are made of
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
  return fmt::format("{} nodes are cut otherwise than the configuration does, {} first", edited_nodes_, first_edited_);
}

std::string SavedPlan::warning() {
  if (unpriced_nodes_ > 0) {
    return fmt::format(
        "[{}] the ranks of 'data' share other work than the configuration says, got {} nodes, {} first, expected none: "
        "prices are those of the configuration, --op those of its alternatives",
        file_.path, unpriced_nodes_, first_unpriced_);
  }
  const PricedPlan priced = this->priced();
  const std::vector<std::vector<std::string>>& stages = priced.stages;
  for (size_t stage = 0; stage < file_.stages.size() && file_.stages.size() == stages.size(); ++stage) {
    if (file_.stages[stage] == stages[stage]) continue;
    return fmt::format("[{}] stage {} has other layers than prices are made for, got {}, expected {}", file_.path,
                       stage, fmt::join(file_.stages[stage], " "), fmt::join(stages[stage], " "));
  }
  if (file_.configuration.recompute.is_counted() && file_.recomputed != priced.recomputed) {
    return fmt::format("[{}] other layers are recomputed than prices are made for, expected as many as {} counts",
                       file_.path, print(file_.configuration.recompute));
  }
  return "";
}

}  // namespace partita
