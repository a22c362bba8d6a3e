// The functions of frontend/network/functions.h on symbolic values, and every op of the registry by name.

#include <cstring>

#include "frontend/network/losses.h"
#include "ir/ops/host/host_function.h"
#include "ir/ops/registry.h"
#include "symbols.h"

namespace partita::python {
namespace {

using Unary = Value (*)(Value, Where);
using Binary = Value (*)(Value, Value, Where);

void bind_unary(py::module_& module) {
  const std::pair<const char*, Unary> all[] = {{"neg", neg},         {"square", square},
                                               {"exp", exp},         {"log", log},
                                               {"sqrt", sqrt},       {"rsqrt", rsqrt},
                                               {"abs", abs},         {"relu", relu},
                                               {"tanh", tanh},       {"sigmoid", sigmoid},
                                               {"silu", silu},       {"softplus", softplus},
                                               {"erf", erf},         {"logical_not", logical_not},
                                               {"softmax", softmax}, {"log_softmax", log_softmax},
                                               {"flatten", flatten}, {"erfc", erfc},
                                               {"erfinv", erfinv},   {"expm1", expm1},
                                               {"log1p", log1p},     {"sin", sin},
                                               {"cos", cos},         {"tan", tan},
                                               {"asin", asin},       {"acos", acos},
                                               {"atan", atan},       {"sinh", sinh},
                                               {"cosh", cosh},       {"asinh", asinh},
                                               {"acosh", acosh},     {"atanh", atanh},
                                               {"lgamma", lgamma},   {"digamma", digamma}};
  for (const auto& [name, function] : all) {
    module.def(name, [function = function](const Symbol& x) { return x.with(function(x.value(), CallerLine(x))); });
  }
}

void bind_binary(py::module_& module) {
  const std::pair<const char*, Binary> all[] = {{"add", add},
                                                {"sub", sub},
                                                {"mul", mul},
                                                {"div", div},
                                                {"power", pow},
                                                {"floor_div", floor_div},
                                                {"remainder", remainder},
                                                {"atan2", atan2},
                                                {"maximum", maximum},
                                                {"minimum", minimum},
                                                {"shared_maximum", shared_maximum},
                                                {"shared_minimum", shared_minimum},
                                                {"equal", equal},
                                                {"not_equal", not_equal},
                                                {"less", less},
                                                {"less_equal", less_equal},
                                                {"greater", greater},
                                                {"greater_equal", greater_equal},
                                                {"logical_and", logical_and},
                                                {"logical_or", logical_or},
                                                {"binary_cross_entropy", binary_cross_entropy},
                                                {"take_along", take_along}};
  for (const auto& [name, function] : all) {
    module.def(name, [function = function](const Symbol& a, const Symbol& b) {
      return a.with(function(a.value(), b.value(), CallerLine(a)));
    });
  }
}

/// The number of a type that is nearest to a number.
void bind_rounding(py::module_& module) {
  module.def("rounded", [](double number, const std::string& dtype) {
    Array one(Type{dtype_of(dtype), {}});
    one.set(0, number);
    return one.at(0);
  });
}

using Reduction = Value (*)(Value, std::vector<int64_t>, bool, Where);

void bind_reductions(py::module_& module) {
  const std::pair<const char*, Reduction> all[] = {
      {"reduce_sum", reduce_sum}, {"reduce_mean", reduce_mean}, {"reduce_max", reduce_max}, {"reduce_min", reduce_min}};
  for (const auto& [name, function] : all) {
    module.def(name, [function = function](const Symbol& x, const std::vector<int64_t>& axes, bool keep_dims) {
      return x.with(function(x.value(), axes, keep_dims, CallerLine(x)));
    });
  }
}

void bind_shapes(py::module_& module) {
  module.def("cast", [](const Symbol& x, const std::string& dtype) {
    return x.with(cast(x.value(), dtype_of(dtype), CallerLine(x)));
  });
  module.def("reshape",
             [](const Symbol& x, const Shape& shape) { return x.with(reshape(x.value(), shape, CallerLine(x))); });
  module.def("transpose", [](const Symbol& x, const std::vector<int64_t>& perm) {
    return x.with(transpose(x.value(), perm, CallerLine(x)));
  });
  module.def("cumsum", [](const Symbol& x, int64_t axis, bool exclusive, bool reverse) {
    return x.with(cumsum(x.value(), axis, exclusive, reverse, CallerLine(x)));
  });
  module.def("repeat", [](const Symbol& x, int64_t axis, int64_t times) {
    return x.with(repeat(x.value(), axis, times, CallerLine(x)));
  });
  module.def("split", [](const Symbol& x, int64_t parts, int64_t axis) {
    return symbols_of(x.trace, split(x.value(), parts, axis, CallerLine(x)));
  });
  module.def("top_k", [](const Symbol& x, int64_t k) {
    const TopK found = top_k(x.value(), k, CallerLine(x));
    return std::pair(x.with(found.values), x.with(found.indices));
  });
}

void bind_others(py::module_& module) {
  module.def("gelu",
             [](const Symbol& x, bool approximate) { return x.with(gelu(x.value(), approximate, CallerLine(x))); });
  module.def("polygamma",
             [](const Symbol& x, int64_t order) { return x.with(polygamma(x.value(), order, CallerLine(x))); });
  module.def("pow", [](const Symbol& x, double exponent) { return x.with(pow(x.value(), exponent, CallerLine(x))); });
  module.def("scale", [](const Symbol& x, double factor, double offset) {
    return x.with(scale(x.value(), factor, offset, CallerLine(x)));
  });
  module.def("matmul", [](const Symbol& a, const Symbol& b, bool transpose_a, bool transpose_b) {
    return a.with(matmul(a.value(), b.value(), transpose_a, transpose_b, CallerLine(a)));
  });
  module.def("select", [](const Symbol& condition, const Symbol& a, const Symbol& b) {
    return a.with(select(condition.value(), a.value(), b.value(), CallerLine(a)));
  });
  module.def("sample_losses", [](const std::string& loss, const Symbol& logits, const Symbol& label) {
    return logits.with(
        sample_losses(parse_name<Loss>("loss", loss), logits.trace->builder(), logits.value(), label.value()));
  });
  module.def("build_loss", [](const std::string& loss, const Symbol& logits, const Symbol& label,
                              std::optional<int64_t> ignore_index) {
    return logits.with(build_loss(parse_name<Loss>("loss", loss), logits.trace->builder(), logits.value(),
                                  label.value(), {.ignore_index = ignore_index}));
  });
}

/// A function of Python as a node: `function(arrays)` gives a sequence of arrays of the types that are said.
std::vector<Symbol> host_function(const TracePtr& trace, const std::string& name, py::function function,
                                  const std::vector<Symbol>& operands, const std::vector<std::string>& dtypes,
                                  const std::vector<Shape>& shapes, const std::string& rule) {
  HostFunctionAttrs attrs{.name = name, .dtypes = {}, .sizes = {}, .rule = rule};
  for (const std::string& dtype : dtypes) attrs.dtypes.push_back(dtype_of(dtype));
  for (const Shape& shape : shapes) {
    attrs.sizes.push_back(static_cast<int64_t>(shape.size()));
    attrs.sizes.insert(attrs.sizes.end(), shape.begin(), shape.end());
  }
  attrs.function =
      std::make_shared<const HostFunction>([name, callable = kept(std::move(function))](Inputs in, Outputs out) {
        const py::gil_scoped_acquire gil;
        py::list given;
        for (const ConstTensor& tensor : in) {
          const auto array = std::make_shared<Array>(tensor.type);
          if (tensor.type.bytes() > 0)
            std::memcpy(array->data(), tensor.data, static_cast<size_t>(tensor.type.bytes()));
          given.append(array);
        }
        const py::sequence results = (*callable)(given);
        if (results.size() != out.size()) {
          throw InvalidArgument(
              fmt::format("[{}] wrong number of results, got {}, expected {}", name, results.size(), out.size()));
        }
        for (size_t i = 0; i < out.size(); ++i) {
          const auto array = py::cast<ArrayPtr>(results[i]);
          if (array == nullptr) throw InvalidArgument(fmt::format("[{}] no result, got None, expected an array", name));
          if (array->type() != out[i].type) {
            throw InvalidArgument(fmt::format("[{}] a result has the wrong type, got {}, expected {}", name,
                                              print(array->type()), print(out[i].type)),
                                  ErrorKind::type);
          }
          if (out[i].type.bytes() > 0)
            std::memcpy(out[i].data, array->data(), static_cast<size_t>(out[i].type.bytes()));
        }
      });
  return symbols_of(trace, trace->builder().apply_all("host_function", values_of(operands), Attrs(std::move(attrs))));
}

}  // namespace

void bind_functions(py::module_& module) {
  py::module_ functions = module.def_submodule("functions", "Functions over symbolic values.");
  bind_rounding(functions);
  bind_unary(functions);
  bind_binary(functions);
  bind_reductions(functions);
  bind_shapes(functions);
  bind_others(functions);
  // Any op: attributes as texts, as graphs print them.
  functions.def("apply", [](const TracePtr& trace, const std::string& op, const std::vector<Symbol>& operands,
                            const FieldTexts& attrs) {
    Builder& builder = trace->builder();
    const Attrs chosen = attrs.empty() ? Attrs() : all_ops().at(op).attrs.with(attrs);
    return symbols_of(trace, builder.apply_all(op, values_of(operands), chosen));
  });
  functions.def("host_function", &host_function);
  module.def("ops", [] {
    std::vector<std::tuple<std::string, std::string, FieldTexts>> all;
    for (const OpDef& op : all_ops().all()) all.emplace_back(op.name, op.summary, op.attrs.texts());
    return all;
  });
}

}  // namespace partita::python
