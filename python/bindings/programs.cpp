// Programs as Python sees them: their texts, and how their states are cut.

#include "programs.h"

#include "bind.h"
#include "ir/ops/registry.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "training/configuration.h"

namespace partita::python {
namespace {

py::tuple box_of(const Box& box) {
  py::list ranges;
  for (const Range& range : box) ranges.append(py::make_tuple(range.begin, range.end));
  return py::tuple(ranges);
}

/// The stage that has a state, the lowest of several.
size_t stage_with(const Program& program, const std::string& name) {
  size_t stage = 0;
  while (program.stages[stage].local.graph.find_state(name) == nullptr) ++stage;
  return stage;
}

py::dict layout_of(const Program& program, const HeldState& state) {
  const size_t stage = stage_with(program, state.name);
  const LocalGraph& local = program.stages[stage].local;
  py::list axes, dims, slices;
  for (size_t i = 0; i < local.mesh.rank_axes(); ++i) {
    axes.append(py::make_tuple(local.mesh.axes()[i].name, local.mesh.axes()[i].size));
  }
  for (const Axes& one : local.shardings[local.graph.find_state(state.name)->entry].dims) dims.append(py::cast(one));
  for (const HeldState::Holder& holder : state.holders) {
    slices.append(py::make_tuple(holder.rank, box_of(holder.box)));
  }
  py::dict layout;
  layout["name"] = state.name;
  layout["dtype"] = std::string(name_of(state.type.dtype));
  layout["shape"] = py::tuple(py::cast(state.type.shape));
  layout["is_weight"] = state.kind == StateKind::parameter || state.kind == StateKind::statistic;
  layout["stage"] = stage;
  layout["axes"] = axes;
  layout["dims"] = dims;
  layout["slices"] = slices;
  return layout;
}

}  // namespace

NamedCuts named_cuts(const py::dict& cuts, const std::string& file) {
  using Lines = std::vector<std::tuple<std::string, std::string, std::string>>;
  NamedCuts named{.file = file,
                  .mesh = Mesh(py::cast<std::vector<std::pair<std::string, int64_t>>>(cuts["axes"]),
                               py::cast<std::vector<int>>(cuts["ranks"])),
                  .lines = {},
                  .others = Search::propagation};
  for (const auto& [kind, names, text] : py::cast<Lines>(cuts["lines"])) {
    named.lines.push_back({parse_name<NamedKind>(file, kind), names, text, static_cast<int>(named.lines.size()) + 1});
  }
  return named;
}

py::object cuts_of(const Program& program) {
  if (program.stages.size() > 1) return py::none();
  const StageProgram& stage = program.only();
  const NamedCuts named = name_cuts(stage.plan, stage.graph, Rules(stage.graph, all_ops()));
  const Mesh mesh = named.mesh.with_micro_batches(1);
  py::list lines;
  for (const NamedLine& line : named.lines) {
    lines.append(py::make_tuple(std::string(name_of(line.kind)), line.names, line.text));
  }
  py::dict cuts;
  cuts["axes"] = mesh.named();
  cuts["ranks"] = mesh.rank_list();
  cuts["lines"] = lines;
  return cuts;
}

py::list layouts_of(const Program& program) {
  py::list layouts;
  for (const HeldState& state : held_states(program)) layouts.append(layout_of(program, state));
  return layouts;
}

void bind_programs(py::module_& module) {
  py::class_<Program, std::shared_ptr<Program>>(module, "Program", "What the ranks of a training run.")
      .def_property_readonly("layouts", &layouts_of)
      .def_property_readonly("cuts", &cuts_of)
      .def_property_readonly("stages", [](const Program& program) { return program.stages.size(); })
      .def_property_readonly("graph", [](const Program& program) { return print(program.graph); })
      .def_property_readonly("plan",
                             [](const Program& program) {
                               return print_stages(program.pipeline, program.stages, [](const StageProgram& stage) {
                                 return print(stage.plan, stage.graph, all_ops());
                               });
                             })
      .def_property_readonly("description", &describe_program)
      .def_property_readonly(
          "nodes",
          [](const Program& program) {
            py::list nodes;
            for (const Node& node : program.graph.nodes) {
              nodes.append(py::make_tuple(node.op, node.name, py::cast(node.inputs), py::cast(node.outputs)));
            }
            return nodes;
          })
      .def_property_readonly("values",
                             [](const Program& program) {
                               py::list values;
                               for (const auto& value : program.graph.values) {
                                 values.append(py::make_tuple(value.name, print(value.type)));
                               }
                               return values;
                             })
      .def("rank", [](const Program& program, int64_t rank) { return print_rank(program, all_ops(), rank); });
}

}  // namespace partita::python
