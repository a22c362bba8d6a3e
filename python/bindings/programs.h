#pragma once

#include <pybind11/pybind11.h>

#include "compiler/compile.h"
#include "compiler/search/named_cuts.h"

namespace partita::python {

/// How each state is cut: a dict with name, dtype, shape, is_weight, stage, axes of the stage's ranks ((name, size),
/// the slowest first), dims (the axes that cut each dimension, by their numbers) and slices (rank, ((begin, end), ..)).
pybind11::list layouts_of(const Program& program);

/// The cuts of nodes by their names; None for a program of several stages.
pybind11::object cuts_of(const Program& program);

/// Cuts of nodes by their names, as `cuts_of` has them. Throws InvalidArgument for what is none.
NamedCuts named_cuts(const pybind11::dict& cuts, const std::string& file);

}  // namespace partita::python
