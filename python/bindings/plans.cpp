// Plans on clusters, found and priced without a run: the planner's functions, handed over.

#include "bind.h"
#include "planner/planner.h"
#include "planner/pricing/layers/quantities.h"
#include "planner/saved_plan.h"

namespace partita::python {
namespace {

using Released = py::call_guard<py::gil_scoped_release>;  // a network of Python is built by whoever needs it

void bind_request(py::module_& module) {
  py::class_<PlanRequest>(module, "PlanRequest", "What is to be planned.")
      .def(py::init<>())
      .def_readwrite("model", &PlanRequest::model)
      .def_readwrite("cluster", &PlanRequest::cluster)
      .def_readwrite("target", &PlanRequest::target)
      .def_readwrite("check", &PlanRequest::check)
      .def_readwrite("ranks", &PlanRequest::ranks)
      .def_readwrite("batch", &PlanRequest::batch)
      .def_readwrite("runner_up", &PlanRequest::runner_up)
      .def_readwrite("tf32", &PlanRequest::tf32)
      .def("limit_memory", [](PlanRequest& request, double gib) { request.memory = gib * kGiB; })
      .def("pin", [](PlanRequest& request, const std::string& text) { request.pins = parse_pins(text); })
      .def("search_by",
           [](PlanRequest& request, const std::string& name) { request.search = parse_name<Search>("search", name); })
      .def("compute_in",
           [](PlanRequest& request, const std::string& name) { request.dtype = parse_planned_dtype("dtype", name); })
      .def("compile_with", [](PlanRequest& request, const std::string& collectives, const std::string& attention) {
        request.collectives = parse_name<CollectiveChoice>("collectives", collectives);
        request.attention = parse_name<AttentionChoice>("attention", attention);
      });
}

void bind_job(py::module_& module) {
  py::class_<PlannedJob>(module, "PlannedJob", "A training step on a cluster under one configuration, priced.")
      .def_readonly("fits", &PlannedJob::fits)
      .def_readonly("memory", &PlannedJob::memory)
      .def_property_readonly("seconds", [](const PlannedJob& job) { return job.priced.price.step_seconds; })
      .def_property_readonly("peak_memory", [](const PlannedJob& job) { return job.priced.price.peak_memory(); })
      .def_property_readonly("configuration", [](const PlannedJob& job) { return print(job.priced.configuration); })
      .def_property_readonly("text", [](const PlannedJob& job) { return print(job.priced); })
      .def_property_readonly("json", [](const PlannedJob& job) { return to_json(job.priced); })
      .def("layers", &print_layers, Released())
      .def(
          "op",
          [](const PlannedJob& job, const std::string& op, bool free) { return print(explain_op(job, op, free)); },
          Released())
      .def("others", &print_others, Released())
      .def("excess", &print_excess)
      .def(
          "remedies",
          [](const PlannedJob& job) {
            std::vector<std::string> texts;
            for (const Remedy& remedy : remedies(job)) texts.push_back(remedy.text);
            return texts;
          },
          Released())
      .def(
          "file", [](const PlannedJob& job) { return print(plan_file_of(job)); }, Released())
      .def(
          "page", [](const PlannedJob& job) { return plan_page(job); }, Released());
}

void bind_saved(py::module_& module) {
  py::class_<SavedPlan>(module, "SavedPlan", "A plan that was saved.")
      .def(py::init<const std::string&, const std::string&>(), Released())
      .def("job", &SavedPlan::job, Released())
      .def("edits", &SavedPlan::edits)
      .def("warning", &SavedPlan::warning, Released());
  py::class_<PlanDifferences>(module, "PlanDifferences", "How two saved plans differ.")
      .def_readonly("text", &PlanDifferences::text)
      .def_readonly("warnings", &PlanDifferences::warnings);
}

}  // namespace

void bind_plans(py::module_& module) {
  bind_request(module);
  bind_job(module);
  bind_saved(module);
  module.def("plan", &plan, Released());
  module.def(
      "price",
      [](const PlanRequest& request, const std::string& text) {
        return price(request, parse_configuration(text, request.where));
      },
      Released());
  module.def("diff", &diff, Released());
}

}  // namespace partita::python
