// The optimizers of the library, as descriptions from which the package makes its classes.

#include "bind.h"
#include "ir/optimizers/registry.h"

namespace partita::python {
namespace {

py::dict described(const OptimizerOption& option) {
  py::dict found;
  found["standard"] = option.standard;
  found["least"] = option.least;
  found["most"] = option.most;
  found["is_switch"] = option.is_switch;
  found["is_whole"] = option.is_whole;
  found["help"] = option.help;
  return found;
}

py::dict described(const PythonParameter& parameter) {
  py::dict found;
  found["name"] = parameter.name;
  found["standard"] = parameter.standard;
  found["option"] = parameter.option.empty() ? parameter.name : parameter.option;
  found["is_refused"] = parameter.use == PythonParameter::refused;
  found["is_ignored"] = parameter.use == PythonParameter::ignored;
  return found;
}

/// {key: value} of an optimizer that has a class in Python. Names of states come with their contents, the option that
/// must be above 0 for them to be kept, "" if they always are, and whether only some parameters have them.
py::dict described(const OptimizerDef& optimizer) {
  py::dict options, found;
  for (const OptimizerOption& option : optimizer.options) options[option.name.c_str()] = described(option);
  py::list states, parameters;
  for (const OptimizerState& state : optimizer.states) {
    states.append(py::make_tuple(state.name, state.what, state.only_with, state.of_some));
  }
  for (const PythonParameter& parameter : optimizer.python.parameters) parameters.append(described(parameter));
  found["kind"] = optimizer.name;
  found["summary"] = optimizer.summary;
  found["name"] = optimizer.python.name;
  found["parameters"] = parameters;
  found["options"] = options;
  found["states"] = states;
  found["fixed"] = optimizer.python.fixed;
  found["renamed"] = optimizer.python.renamed;
  found["documented"] = optimizer.python.documented;
  found["counts_steps"] = optimizer.counts_steps;
  found["is_named_by_kind"] = optimizer.python.is_named_by_kind;
  return found;
}

}  // namespace

void bind_optimizers(py::module_& module) {
  module.def(
      "optimizers",
      [] {
        py::list all;
        for (const OptimizerDef& optimizer : all_optimizers()) {
          if (!optimizer.python.name.empty()) all.append(described(optimizer));
        }
        return all;
      },
      "Descriptions of the optimizers that have a class in the package.");
  module.def("documented_state_prefixes", &documented_state_prefixes,
             "Words that precede the name of a parameter in the states of MindSpore's optimizers.");
}

}  // namespace partita::python
