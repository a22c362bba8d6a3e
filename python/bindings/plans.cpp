// Plans of networks of Python on clusters, found and priced without a run.

#include "plans.h"

#include "bind.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "job/options.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "planner/explain/page.h"
#include "planner/pricing/price_notes.h"
#include "planner/pricing/simulate_step.h"

namespace partita::python {
namespace {

Cluster cluster_of(const PlanQuestion& question) {
  Cluster cluster = open_cluster(question.cluster);
  if (!question.tf32) cluster = without_tf32(std::move(cluster));
  if (question.ranks == 0) return cluster;
  if (question.ranks < 1 || (question.ranks > cluster.ranks() && cluster.cores == 0)) {
    throw InvalidArgument(fmt::format("[plan] bad ranks, got {}, expected 1 to the {} of {}", question.ranks,
                                      cluster.ranks(), cluster.name));
  }
  return resized(cluster, question.ranks);
}

double memory_of(const Cluster& cluster) {
  const double shared = cluster.cores > 0 ? static_cast<double>(cluster.levels.front().size) : 1;  // of a host
  return cluster.device.memory / shared - cluster.reserve_memory;
}

}  // namespace

FoundPlan::FoundPlan(const Network& network, const JobConfig& config, const std::vector<Column>& columns,
                     const PlanQuestion& question)
    : cluster_(cluster_of(question)),
      precision_(Precision::of(config.training.dtype)),
      config_(config),
      search_(parse_name<Search>("plan", question.search)),
      // Of batch norms each row has statistics of its own, so that any micro-batch can be priced.
      forward_(build_graph(
          network, all_ops(),
          {.batch = config.training.batch, .columns = columns, .statistics_groups = config.training.batch})),
      costs_(forward_, all_ops(), cluster_,
             {.training = {.optimizer = config.optimizer}, .precision = precision_, .search = search_}),
      memory_(memory_of(cluster_)) {
  const ConfigurationSearch search = search_configurations(
      {.costs = costs_, .ranks = cluster_.ranks(), .memory_bytes = memory_, .pins = parse_pins(question.pins)});
  fits_ = search.best.has_value();
  const PricedConfiguration& found = fits_ ? *search.best : *search.least;
  plan_ = {.model = network.name(),
           .cluster = question.cluster,
           .software = cluster_.software.name,
           .fitted = fitted_values(cluster_),
           .ranks = cluster_.ranks(),
           .batch = config.training.batch,
           .configuration = found.configuration,
           .price = found.price,
           .stages = found.price.layers.size() > 1 ? stage_names(found.price, costs_.folded(), forward_)
                                                   : std::vector<std::vector<std::string>>(),
           .recomputed = recomputed_names(found.price, costs_.folded(), forward_, all_ops()),
           .notes = price_notes(cluster_, precision_, found.configuration, found.price),
           .lower_bound_seconds = search.lower_bound_seconds,
           .searched = search.searched};
}

std::vector<LayerRow> FoundPlan::layer_rows() {
  JobConfig planned = config_;
  planned.plan.options.search = search_;
  planned.plan.options.costs = costs_.plan_options(plan_.configuration).costs;
  const JobConfig job =
      completed(job_of(std::move(planned), plan_.configuration, plan_.price, costs_.folded(), forward_, all_ops()),
                Place{.cores = 1});
  const Graph& graph = costs_.folded().graph;
  const int64_t ranks = plan_.configuration.ranks() / plan_.configuration.pipeline;
  const Plan cuts = make_plan(graph, all_ops(), make_mesh(graph, ranks, job.plan.options), job.plan.options);
  return layer_table(costs_, plan_.configuration, costs_.stages(plan_.configuration).layers(), cuts,
                     Rules(graph, all_ops()), precision_);
}

std::string FoundPlan::layers() { return print(layer_rows(), plan_.configuration, plan_.batch); }

std::string FoundPlan::page() {
  return html_page({.plan = plan_,
                    .cluster = cluster_,
                    .memory = memory_,
                    .layers = layer_rows(),
                    .cuts = {},
                    .step = simulate_step(costs_.stages(plan_.configuration), plan_.configuration.zero,
                                          {.spans = true, .memory = true}),
                    .others = {},
                    .groups = {},
                    .ops = {},
                    .text = text()});
}

void bind_plans(py::module_& module) {
  py::class_<FoundPlan, std::shared_ptr<FoundPlan>>(module, "FoundPlan", "A configuration of a network on a cluster.")
      .def_property_readonly("fits", &FoundPlan::fits)
      .def_property_readonly("memory", &FoundPlan::memory)
      .def_property_readonly("seconds", [](const FoundPlan& plan) { return plan.priced().price.step_seconds; })
      .def_property_readonly("peak_memory", [](const FoundPlan& plan) { return plan.priced().price.peak_memory(); })
      .def_property_readonly("configuration", [](const FoundPlan& plan) { return print(plan.priced().configuration); })
      .def_property_readonly("text", &FoundPlan::text)
      .def_property_readonly("json", [](const FoundPlan& plan) { return to_json(plan.priced()); })
      .def("layers", &FoundPlan::layers)
      .def("page", &FoundPlan::page);
}

}  // namespace partita::python
