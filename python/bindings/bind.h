#pragma once
// What the parts of the extension module share. Python sees arrays, symbolic values, rows and trainings; arithmetic is
// in the library.

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "base/shape.h"

namespace partita::python {

namespace py = pybind11;

using ArrayPtr = std::shared_ptr<Array>;

void bind_errors(py::module_& module);
void bind_arrays(py::module_& module);
void bind_symbols(py::module_& module);
void bind_functions(py::module_& module);
void bind_layers(py::module_& module);
void bind_rows(py::module_& module);
void bind_model(py::module_& module);
void bind_optimizers(py::module_& module);
void bind_plans(py::module_& module);
void bind_programs(py::module_& module);
void bind_files(py::module_& module);
void bind_ranks(py::module_& module);

/// The element type of a name such as "f32"; throws InvalidArgument.
DType dtype_of(const std::string& name);

/// Keeps a Python object for C++ that copies it and lets it go on any thread.
template <class Object>
std::shared_ptr<Object> kept(Object object) {
  return std::shared_ptr<Object>(new Object(std::move(object)), [](Object* held) {
    const py::gil_scoped_acquire gil;
    delete held;
  });
}

}  // namespace partita::python
