// Dense arrays, which NumPy reads and writes in place.

#include <cstring>

#include "base/philox.h"
#include "bind.h"
#include "frontend/network/initializers.h"

namespace partita::python {
namespace {

std::string format_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return "d";
    case DType::f32: return "f";
    case DType::bf16: return "H";  // NumPy has no such type: the bits
    case DType::f16: return "e";
    case DType::i64: return "q";
    case DType::i32: return "i";
    case DType::u8: return "B";
    case DType::u32: return "I";
    case DType::boolean: return "?";
    case DType::i8: return "b";
    case DType::i16: return "h";
    case DType::u16: return "H";
  }
  return "";
}

/// The element type of a buffer; of an array of NumPy, whose own structures differ from version to version.
DType dtype_of_buffer(const py::buffer_info& info, const py::object& given) {
  const char kind = info.format.empty() ? ' ' : info.format.back();
  const bool native =
      info.format.size() == 1 || info.format.front() == '@' || info.format.front() == '=' || info.format.front() == '<';
  const auto is = [&](std::string_view kinds, py::ssize_t size) {
    return native && kinds.find(kind) != std::string_view::npos && info.itemsize == size;
  };
  if (is("d", 8)) return DType::f64;
  if (is("f", 4)) return DType::f32;
  if (is("e", 2)) return DType::f16;
  if (is("lq", 8)) return DType::i64;
  if (is("il", 4)) return DType::i32;
  if (is("B", 1)) return DType::u8;
  if (is("b", 1)) return DType::i8;
  if (is("h", 2)) return DType::i16;
  if (is("H", 2)) return DType::u16;
  if (is("IL", 4)) return DType::u32;
  if (is("?", 1)) return DType::boolean;
  throw InvalidArgument(
      fmt::format("[array] unsupported element type, got {}, expected float64, float32, float16, int64, int32, int16, "
                  "int8, uint32, uint16, uint8 or bool",
                  py::hasattr(given, "dtype") ? py::cast<std::string>(py::str(given.attr("dtype"))) : info.format),
      ErrorKind::type);
}

/// Whether elements lie in row-major order without gaps.
bool is_dense(const py::buffer_info& info) {
  py::ssize_t step = info.itemsize;
  for (py::ssize_t d = info.ndim - 1; d >= 0; --d) {
    const auto at = static_cast<size_t>(d);
    if (info.shape[at] > 1 && info.strides[at] != step) return false;
    step *= info.shape[at];
  }
  return true;
}

ArrayPtr from_numpy(const py::object& given) {
  py::object dense = given;
  if (!PyObject_CheckBuffer(given.ptr())) dense = py::module_::import("numpy").attr("asarray")(given);
  const bool has_type = py::hasattr(dense, "dtype");
  const std::string kind = has_type ? py::cast<std::string>(dense.attr("dtype").attr("kind")) : "f";
  if (kind.find_first_of("fiub") == std::string::npos) {  // others may have no buffer at all
    dtype_of_buffer(py::buffer_info(nullptr, 0, "", 0, std::vector<py::ssize_t>{}, std::vector<py::ssize_t>{}), dense);
  }
  py::buffer_info info = py::reinterpret_borrow<py::buffer>(dense).request();
  if (!is_dense(info)) {
    dense = py::module_::import("numpy").attr("ascontiguousarray")(dense);
    info = py::reinterpret_borrow<py::buffer>(dense).request();
  }
  const auto result =
      std::make_shared<Array>(Type{dtype_of_buffer(info, dense), Shape(info.shape.begin(), info.shape.end())});
  const auto bytes = static_cast<size_t>(result->type().bytes());
  if (bytes > 0) std::memcpy(result->data(), info.ptr, bytes);
  return result;
}

py::buffer_info buffer_of(Array& array) {
  const Type& type = array.type();
  const auto size = static_cast<py::ssize_t>(size_of(type.dtype));
  std::vector<py::ssize_t> shape(type.shape.begin(), type.shape.end()), strides;
  for (const int64_t stride : strides_of(type.shape)) strides.push_back(static_cast<py::ssize_t>(stride) * size);
  return py::buffer_info(array.data(), size, format_of(type.dtype), static_cast<py::ssize_t>(shape.size()), shape,
                         strides);
}

InitKind init_kind_of(const std::string& name) { return parse_name<InitKind>("initializer", name); }

}  // namespace

DType dtype_of(const std::string& name) {
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) throw InvalidArgument(fmt::format("[dtype] unknown element type, got '{}', expected one like f32", name));
  return *dtype;
}

void bind_arrays(py::module_& module) {
  py::class_<Array, ArrayPtr>(module, "Array", py::buffer_protocol(), "A dense row-major array.")
      .def(py::init(&from_numpy), "A copy of a NumPy array.")
      .def_buffer(&buffer_of)
      .def_property_readonly("dtype", [](const Array& array) { return std::string(name_of(array.type().dtype)); })
      .def_property_readonly("shape", [](const Array& array) { return py::tuple(py::cast(array.shape())); })
      .def("at", &Array::at, "An element, by its place in row-major order, as a float.")
      .def("copy",
           [](const Array& array) {
             auto made = std::make_shared<Array>(array.type());
             std::memcpy(made->data(), array.data(), static_cast<size_t>(array.type().bytes()));
             return made;
           })
      .def("cast", [](const Array& array, const std::string& dtype) {
        return std::make_shared<Array>(cast(array, dtype_of(dtype)));
      });
  module.def("zeros", [](const std::string& dtype, const Shape& shape) {
    return std::make_shared<Array>(Type{dtype_of(dtype), shape});
  });
  module.def(
      "initial",
      [](const std::string& kind, const std::vector<double>& args, const std::string& dtype, const Shape& shape,
         uint64_t seed, const std::string& name) {
        const Initializer init{init_kind_of(kind), args};
        check_arguments(init);
        const py::gil_scoped_release release;
        return std::make_shared<Array>(make_initial(init, Type{dtype_of(dtype), shape}, random_key(seed, name)));
      },
      "The values with which a parameter of this name begins.");
  module.def("initializer_of_rule", [](const std::string& rule, const Shape& shape) {
    const Initializer init = initializer(parse_name<Init>("initializer", rule), shape);
    return std::pair(std::string(name_of(init.kind)), init.args);
  });
  module.def("fans", [](const Shape& shape) {
    const Fans fans = fans_of(shape);
    return std::pair(fans.in, fans.out);
  });
}

}  // namespace partita::python
