#include "symbols.h"

#include <unistd.h>

#include <set>

#include "compiler/autodiff/differentiate.h"
#include "compiler/autodiff/optimizer.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/registry.h"
#include "runtime/execute/node_kernels.h"

namespace partita::python {
namespace {

Builder& checked(Builder* builder, bool open) {
  if (open) return *builder;
  throw InvalidArgument(
      "[trace] a symbolic value is used after its network was built, got a value of an earlier call, expected values "
      "of this call");
}

/// The kernels of this thread's calls that run at once. Only the main thread has compute threads for them.
NodeKernels& own_kernels() {
  const bool is_main = ::gettid() == ::getpid();
  thread_local NodeKernels kernels(all_ops(), is_main ? completed({}, this_place()).ranks.threads : 1);
  return kernels;
}

}  // namespace

Trace::Trace() : own_(std::make_unique<Builder>(all_ops(), "eager")), builder_(own_.get()) {}

Trace::Trace(uint64_t seed, int64_t groups) : Trace() {
  const Context::Options options{.training = true, .statistics_groups = groups, .seed = seed};
  own_context_ = std::make_unique<Context>(*own_, options);
  context_ = own_context_.get();
}

std::shared_ptr<Trace> Trace::of(Builder& builder) { return std::shared_ptr<Trace>(new Trace(builder)); }
std::shared_ptr<Trace> Trace::of(Context& context) { return std::shared_ptr<Trace>(new Trace(context)); }

Builder& Trace::builder() { return checked(builder_, open_); }

Context& Trace::context() {
  checked(builder_, open_);
  if (context_ != nullptr) return *context_;
  if (own_ == nullptr) {
    throw InvalidArgument(
        "[trace] this op works only in a network, not in a custom gradient or update, got one that draws, counts or "
        "keeps something, expected ops of its arguments");
  }
  throw InvalidArgument(
      "[trace] no network is being built, got an op that would run immediately, expected a call in construct");
}

Value Trace::input(ArrayPtr array) {
  const Value value = builder().input(fmt::format("given{}", given_.size()), array->type());
  given_.emplace(value.id(), std::move(array));
  return value;
}

std::vector<ArrayPtr> Trace::run(const std::vector<ValueId>& results) {
  const Graph& graph = builder().graph();
  std::vector<ArrayPtr> values(graph.values.size());
  for (const auto& [id, array] : given_) values[static_cast<size_t>(id)] = array;
  NodeKernels& kernels = own_kernels();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<ConstTensor> inputs;
    std::vector<Tensor> outputs;
    for (const ValueId id : node.inputs) inputs.push_back(std::as_const(*values[static_cast<size_t>(id)]).tensor());
    for (const ValueId id : node.outputs) {
      values[static_cast<size_t>(id)] = std::make_shared<Array>(graph.type(id));
      outputs.push_back(values[static_cast<size_t>(id)]->tensor());
    }
    kernels.run(graph, i, inputs, outputs);
  }
  std::vector<ArrayPtr> arrays;
  for (const ValueId id : results) arrays.push_back(values.at(static_cast<size_t>(id)));
  return arrays;
}

std::vector<Symbol> symbols_of(const TracePtr& trace, const std::vector<Value>& values) {
  std::vector<Symbol> symbols;
  for (const Value& value : values) symbols.push_back({trace, value.id()});
  return symbols;
}

std::vector<Value> values_of(const std::vector<Symbol>& symbols) {
  std::vector<Value> values;
  for (const Symbol& symbol : symbols) values.push_back(symbol.value());
  return values;
}

namespace {

Symbol make_state(const TracePtr& trace, const std::string& name, const std::string& dtype, const Shape& shape,
                  bool requires_grad, int layerwise) {
  Builder& builder = trace->builder();
  require_layer_shape(name, shape);
  const Value value =
      builder.state(name, Type{dtype_of(dtype), shape}, {.kind = StateKind::parameter, .requires_grad = requires_grad});
  if (layerwise >= 0) builder.layerwise(value, layerwise);
  return {trace, value.id()};
}

void set_place(const TracePtr& trace, const std::string& scope, const std::string& file, int line, int stage,
               const std::string& recompute) {
  Builder& builder = trace->builder();
  builder.scope = scope;
  builder.source = {file, line};
  builder.stage = stage;
  builder.recompute = recompute;
}

/// d loss / d x for each x, zeros where the loss does not depend on it.
std::vector<Symbol> differentiate_loss(const TracePtr& trace, const Symbol& loss,
                                       const std::vector<Symbol>& with_respect_to) {
  Builder& builder = trace->builder();
  const std::vector<Value> values = values_of(with_respect_to);
  const std::string scope = builder.scope;
  const SourceLocation source = builder.source;
  const Phase phase = builder.phase;
  const std::string origin = builder.origin;
  std::vector<Value> gradients = differentiate(builder, loss.value(), values);
  builder.phase = phase;
  builder.scope = scope;
  builder.source = source;
  builder.origin = origin;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!gradients[i]) gradients[i] = constant(builder, 0, values[i].type());
  }
  return symbols_of(trace, gradients);
}

/// The nodes of an optimizer's update; gives what the parameter becomes. A rate of another type than the parameter, as
/// in loops over f64, is converted.
Symbol update_parameter(const TracePtr& trace, const OptionTexts& options, const Symbol& parameter,
                        const Symbol& gradient, const Symbol& rate) {
  Builder& builder = trace->builder();
  builder.phase = Phase::update;
  const DType dtype = parameter.value().dtype();
  const Value own =
      rate.value().dtype() == dtype ? rate.value() : builder.apply("cast", {rate.value()}, CastAttrs{dtype});
  build_update(builder, config_of(options).optimizer, parameter.value(), gradient.value(), own);
  builder.phase = Phase::forward;
  const State* state = builder.find_state(builder.graph().values[static_cast<size_t>(parameter.id)].name);
  return {trace, state->exit};
}

/// The nodes from `begin` on get their gradient from `function(trace, inputs, outputs, d_outputs)`: symbols, or None
/// where no gradient arrived or is given.
void own_gradient(const TracePtr& trace, int64_t begin, const std::vector<Symbol>& inputs,
                  const std::vector<Symbol>& outputs, py::function function) {
  const auto ids_of = [](const std::vector<Symbol>& symbols) {
    std::vector<ValueId> ids;
    for (const Symbol& symbol : symbols) ids.push_back(symbol.id);
    return ids;
  };
  const auto gradient = [kept_function = kept(std::move(function)), from = ids_of(inputs), to = ids_of(outputs)](
                            Builder& builder, const std::vector<Value>& d_outputs) {
    const py::gil_scoped_acquire gil;
    const TracePtr own = Trace::of(builder);
    const OpenTrace open(own);
    const auto listed = [&](const std::vector<ValueId>& ids) {
      py::list symbols;
      for (const ValueId id : ids) symbols.append(Symbol{own, id});
      return symbols;
    };
    py::list arrived;
    for (const Value& d : d_outputs) arrived.append(d ? py::cast(Symbol{own, d.id()}) : py::none());
    std::vector<Value> gradients;
    for (const py::handle one : (*kept_function)(own, listed(from), listed(to), arrived)) {
      gradients.push_back(one.is_none() ? Value() : py::cast<Symbol>(one).value());
    }
    return gradients;
  };
  trace->builder().own_gradient(static_cast<NodeId>(begin), values_of(inputs), values_of(outputs), gradient);
}

/// Adds the optimizer state PARAMETER.SUFFIX to the trace. Every element starts as `value`.
Symbol optimizer_state(const TracePtr& trace, const Symbol& parameter, const std::string& suffix, const Shape& shape,
                       double value) {
  Builder& builder = trace->builder();
  const std::string owner = builder.graph().values[static_cast<size_t>(parameter.id)].name;
  const Type type{parameter.value().dtype(), shape};
  const State state{
      .kind = StateKind::optimizer, .init = {InitKind::constant, {value}}, .requires_grad = false, .owner = owner};
  return {trace, builder.state(owner + "." + suffix, type, state).id()};
}

Symbol count_step(const TracePtr& trace) {
  const State counter{.kind = StateKind::counter, .requires_grad = false};
  return {trace, trace->builder().state("step", Type{DType::i64, {}}, counter).id()};
}

bool is_constant(const Graph& graph, NodeId node) { return graph.nodes[static_cast<size_t>(node)].op == "constant"; }

/// The numbers of the values that nodes [begin, end) compute; constants are made again where they are used.
std::vector<ValueId> computed(Trace& trace, NodeId begin, NodeId end) {
  const Graph& graph = trace.builder().graph();
  std::vector<ValueId> ids;
  for (NodeId node = begin; node < end; ++node) {
    if (is_constant(graph, node)) continue;
    const auto& made = graph.nodes[static_cast<size_t>(node)].outputs;
    ids.insert(ids.end(), made.begin(), made.end());
  }
  return ids;
}

/// The numbers of the values that nodes before `begin` compute and that others, outputs or states use.
std::vector<ValueId> used_after(Trace& trace, NodeId begin) {
  const Graph& graph = trace.builder().graph();
  std::set<ValueId> ids;
  const auto use = [&](ValueId id) {
    const NodeId producer = id < 0 ? -1 : graph.values[static_cast<size_t>(id)].producer;
    if (producer >= 0 && producer < begin && !is_constant(graph, producer)) ids.insert(id);
  };
  for (size_t node = static_cast<size_t>(begin); node < graph.nodes.size(); ++node) {
    for (const ValueId id : graph.nodes[node].inputs) use(id);
  }
  for (const Output& output : graph.outputs) use(output.value);
  for (const State& state : graph.states) use(state.exit);
  for (const Value& value : trace.context().updated_statistics()) use(value.id());
  return {ids.begin(), ids.end()};
}

void set_phase(const TracePtr& trace, const std::string& name) {
  trace->builder().phase = name == "update" ? Phase::update : Phase::forward;
}

void bind_symbol(py::module_& module) {
  py::class_<Symbol>(module, "Symbol", "A value of a graph under construction.")
      .def_property_readonly("dtype", [](const Symbol& symbol) { return std::string(name_of(symbol.value().dtype())); })
      .def_property_readonly("shape", [](const Symbol& symbol) { return py::tuple(py::cast(symbol.value().shape())); })
      .def_readonly("id", &Symbol::id, "Its number in the graph.")
      .def_property_readonly(
          "node",
          [](const Symbol& symbol) {
            return symbol.trace->builder().graph().values[static_cast<size_t>(symbol.id)].producer;
          },
          "The number of the node that makes it, or -1.")
      .def_property_readonly("name",
                             [](const Symbol& symbol) {
                               return symbol.trace->builder().graph().values[static_cast<size_t>(symbol.id)].name;
                             })
      .def("annotate", [](const Symbol& symbol, const std::string& text) {
        symbol.trace->builder().annotate(symbol.value(), parse_annotation(text));
      });
}

/// Binds what programs of parts of a step need: one computes values that another is given.
void bind_parts(py::class_<Trace, TracePtr>& trace) {
  trace.def_static("of_types", [](uint64_t seed, int64_t groups) { return std::make_shared<Trace>(seed, groups); })
      .def("computed", &computed)
      .def("used_after", &used_after)
      .def("symbol",
           [](const TracePtr& trace, ValueId id) {
             return Symbol{trace, id};
           })
      .def("give", [](Trace& trace, const Symbol& value,
                      const Symbol& given) { trace.context().give(value.value(), given.value()); })
      .def("freeze_states", [](Trace& trace) { trace.context().freeze_states(); });
}

void bind_trace(py::module_& module) {
  py::class_<Trace, TracePtr> trace(module, "Trace", "A graph under construction.");
  bind_parts(trace);
  trace.def(py::init<>())
      .def_property_readonly("builds_network", &Trace::builds_network)
      .def_property_readonly("training", [](Trace& trace) { return trace.context().options().training; })
      .def("input",
           [](const TracePtr& trace, ArrayPtr array) {
             return Symbol{trace, trace->input(array).id()};
           })
      .def("run",
           [](Trace& trace, const std::vector<Symbol>& results) {
             std::vector<ValueId> ids;
             for (const Symbol& symbol : results) ids.push_back(symbol.id);
             const py::gil_scoped_release release;
             return trace.run(ids);
           })
      .def("state", &make_state)
      .def("constant",
           [](const TracePtr& trace, double value, const std::string& dtype, const Shape& shape) {
             return Symbol{trace, constant(trace->builder(), value, Type{dtype_of(dtype), shape}).id()};
           })
      .def("set_place", &set_place)
      .def("statistic",
           [](const TracePtr& trace, const std::string& name, const Shape& shape) {
             return Symbol{trace, trace->context().statistic(name, shape, {}).id()};
           })
      .def("update_statistic", [](Trace& trace, const std::string& name,
                                  const Symbol& next) { trace.context().update_statistic(name, next.value()); })
      .def("statistics_groups", [](Trace& trace) { return trace.context().options().statistics_groups; })
      .def("differentiate", &differentiate_loss)
      .def_property_readonly("nodes", [](Trace& trace) { return trace.builder().graph().nodes.size(); })
      .def("own_gradient", &own_gradient)
      .def("update", &update_parameter)
      .def("optimizer_state", &optimizer_state)
      .def("set_phase", &set_phase)
      .def("count_step", &count_step)
      .def("store", [](Trace& trace, const Symbol& state,
                       const Symbol& value) { trace.builder().store(state.value(), value.value()); })
      .def(
          "network_input",
          [](const TracePtr& trace, const std::string& name, const std::string& dtype, const Shape& shape, bool batch) {
            return Symbol{trace, trace->builder().input(name, Type{dtype_of(dtype), shape}, batch ? 0 : -1).id()};
          })
      .def("output", [](Trace& trace, const std::string& name,
                        const Symbol& symbol) { trace.builder().output(name, symbol.value()); })
      .def("step",
           [](const TracePtr& trace) {
             return Symbol{trace, trace->context().step().id()};
           })
      .def("random_key", [](Trace& trace, const std::string& name) { return trace.context().random_key(name); })
      .def("set_precision", [](Trace& trace, const std::string& scope,
                               const std::string& precision) { trace.context().set_precision(scope, precision); })
      .def("add_loss", [](Trace& trace, const std::string& name, const Symbol& mean, double weight) {
        trace.context().add_loss(name, mean.value(), weight);
      });
}

}  // namespace

void bind_symbols(py::module_& module) {
  bind_symbol(module);
  bind_trace(module);
}

}  // namespace partita::python
