// Errors of the library as the exceptions of Python that docs/guide/python.md lists; each has an attribute `exit_code`.

#include "bind.h"

namespace partita::python {
namespace {

PyObject* class_of(const Error& error) {
  if (error.code() == ExitCode::non_finite) return PyExc_ValueError;
  switch (error.kind()) {
    case ErrorKind::value: return PyExc_ValueError;
    case ErrorKind::type: return PyExc_TypeError;
    case ErrorKind::key: return PyExc_KeyError;
    case ErrorKind::index: return PyExc_IndexError;
    case ErrorKind::runtime: return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

void raise(const Error& error) {
  py::object exception = py::reinterpret_borrow<py::object>(class_of(error))(error.what());
  exception.attr("exit_code") = static_cast<int>(error.code());
  PyErr_SetObject(class_of(error), exception.ptr());
}

}  // namespace

void bind_errors(py::module_& module) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    }
  });
  module.def("nearest", &nearest, "The candidate nearest to a name, or ''.");
}

}  // namespace partita::python
