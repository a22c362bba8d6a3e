#include "cli/plan_flags.h"

#include "cli/options.h"

namespace partita {

void add_plan_flags(CLI::App& command, PlanFlags& flags) {
  command.add_option(
      "--parallel", flags.parallel,
      "none, data (the batch is cut), hybrid (and layerwise parameters), semi (marks are binding, the "
      "rest cuts the batch) or auto (marks spread); data, or what the model is for, when there are several ranks");
  command.add_option("--search", flags.search, "How auto finds a plan: propagation")->capture_default_str();
  command
      .add_option("--dataset-strategy", flags.dataset,
                  "How inputs lie under semi and auto: data_parallel, full_batch or parts as in ((2,4),(8))")
      ->capture_default_str();
  command.add_option("--uneven", flags.uneven, "allow or error: dimensions that do not divide into their parts")
      ->capture_default_str();
  command.add_option("--shard", flags.shard, "Cut nodes so: NODES=STRATEGY, as 'net/fc1/matmul=((2,4),(1,4))'")
      ->expected(1)
      ->take_all();
}

PlanOptions plan_options(const PlanFlags& flags, int64_t ranks, const std::string& recipe) {
  PlanOptions options;
  options.parallel = !flags.parallel.empty() ? flags.parallel : ranks > 1 ? recipe : "none";
  options.search = flags.search;
  options.dataset = flags.dataset;
  check_choice("--parallel", options.parallel, parallel_modes());
  check_choice("--search", options.search, searches());
  check_choice("--uneven", flags.uneven, {"allow", "error"});
  if (!options.dataset.starts_with("(")) {
    check_choice("--dataset-strategy", options.dataset, {"data_parallel", "full_batch"});
  }
  options.uneven = flags.uneven == "allow";
  return options;
}

std::vector<NodeMark> node_marks(const PlanFlags& flags) {
  std::vector<NodeMark> marks;
  for (const std::string& text : flags.shard) marks.push_back(parse_node_mark(text));
  return marks;
}

}  // namespace partita
