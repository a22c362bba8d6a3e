// A network of Python under a configuration: trained, evaluated, asked for predictions.

#include "training/model.h"

#include <atomic>
#include <csignal>
#include <set>

#include "bind.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "job/options.h"
#include "planner/plan_request.h"
#include "programs.h"
#include "runtime/launch/signals.h"
#include "symbols.h"
#include "training/stepper.h"

namespace partita::python {

JobConfig config_of(const OptionTexts& texts) {
  JobConfig config;
  std::vector<Assignment> assignments;
  for (const auto& [key, values] : texts) assignments.push_back({&find_option(key), key, values});
  assign(config, assignments);
  return config;
}

DatasetPtr dataset_of(const py::handle& rows);
Place place_of(bool alone) {
  Place place = this_place();
  if (alone) place.launched.reset();
  return place;
}

namespace {

std::atomic<bool> interrupt_received{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

/// While it lives the first Ctrl-C ends the training after the step that runs, and a second one ends the process.
class InterruptScope {
 public:
  InterruptScope() {
    interrupt_received = false;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupt_received.store(true, std::memory_order_relaxed); };
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    ::sigaction(SIGINT, &action, &before_);
  }
  ~InterruptScope() { ::sigaction(SIGINT, &before_, nullptr); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_ {};
};

using SymbolList = std::vector<std::pair<std::string, Symbol>>;

/// Python functions that build a network. The trace is open only while they run.
struct NetworkFunctions {
  std::shared_ptr<py::function> forward, loss;
  TracePtr trace;  // trace of the current build
};

NamedValues call(const py::function& function, const TracePtr& trace, Columns& columns, const NamedValues& outputs) {
  const py::gil_scoped_acquire gil;
  const auto read = [&](const std::string& name) { return Symbol{trace, columns.as_given(name).id()}; };
  py::list named;
  for (const auto& [name, value] : outputs) named.append(py::make_tuple(name, Symbol{trace, value.id()}));
  const OpenTrace open(trace);
  NamedValues values;
  const auto results = py::cast<SymbolList>(function(trace, py::cpp_function(read), named));
  for (const auto& [name, symbol] : results) values.emplace_back(name, symbol.value());
  return values;
}

Network network_of(const std::string& name, py::function forward, const std::optional<py::function>& loss,
                   const ScopePrecisions& precisions) {
  const auto functions = std::make_shared<NetworkFunctions>();
  functions->forward = kept(std::move(forward));
  if (loss) functions->loss = kept(*loss);
  const auto build = [functions](Context& context, Columns& columns) {
    functions->trace = Trace::of(context);
    return call(*functions->forward, functions->trace, columns, {});
  };
  Network::LossFunction build_loss;
  if (loss) {
    build_loss = [functions](Context&, Columns& columns, const NamedValues& outputs) {
      return call(*functions->loss, functions->trace, columns, outputs);
    };
  }
  Network network(name, build, build_loss);
  network.set_precisions(precisions);
  return network;
}

/// Builds the graph of a network for a purpose and drops it: what stays is what its functions know of the build.
/// `columns`: (name, element type, shape) of each column of the rows.
void build_network(const std::string& name, py::function forward, const std::optional<py::function>& loss,
                   const std::vector<std::tuple<std::string, std::string, Shape>>& columns, int64_t batch,
                   const std::string& purpose, const OptionTexts& options) {
  const TrainingConfig training = config_of(options).training;
  BuildOptions build{.batch = batch,
                     .dtype = training.dtype,
                     .purpose = parse_name<Purpose>("network", purpose),
                     .seed = training.seed};
  for (const auto& [column, dtype, shape] : columns) build.columns.push_back({column, {dtype_of(dtype), shape}});
  const Network network = network_of(name, std::move(forward), loss, {});
  const py::gil_scoped_release release;
  build_graph(network, all_ops(), build);
}

/// Gives Python access to a training's control. Python may keep this object after the training has ended.
class PythonControl {
 public:
  /// Sets the control of the current event; nullptr if no event runs.
  void set(TrainControl* control) { control_ = control; }
  TrainControl& get() const {
    if (control_ != nullptr) return *control_;
    throw InvalidArgument(
        "[train] a training answers only during the events of callbacks, got a request outside of them, expected one "
        "in on_train_begin, on_train_step_end, on_train_epoch_end or the like");
  }

 private:
  TrainControl* control_ = nullptr;  // read and written under the GIL
};

/// Events of a training as calls of a Python object's methods.
class PythonCallback : public Callback {
 public:
  explicit PythonCallback(py::object target) : target_(std::move(target)) {}
  void on_train_begin(const TrainInfo& info) override {
    control_ = info.control;
    call("train_begin", info, python_control_);
  }
  void on_step_end(const StepInfo& info) override { call("step_end", info); }
  bool may_lag(int64_t global_step) const override {
    const py::gil_scoped_acquire gil;
    return target_.attr("may_lag")(global_step).cast<bool>();
  }
  void on_epoch_end(const EpochInfo& info) override { call("epoch_end", info); }
  void on_train_end() override { call("train_end"); }

 private:
  /// Python may use the control while its method runs.
  struct Event {
    explicit Event(PythonCallback& callback) : control(*callback.python_control_) { control.set(callback.control_); }
    ~Event() { control.set(nullptr); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    PythonControl& control;
  };

  template <class... Args>
  void call(const char* method, const Args&... args) {
    const py::gil_scoped_acquire gil;
    const Event event(*this);
    target_.attr(method)(args...);
    if (interrupt_received) control_->stop();
  }

  py::object target_;
  std::shared_ptr<PythonControl> python_control_ = std::make_shared<PythonControl>();
  TrainControl* control_ = nullptr;
};

States states_of(const std::map<std::string, ArrayPtr>& arrays) {
  States states;
  for (const auto& [name, array] : arrays) states.emplace(name, *array);
  return states;
}

std::map<std::string, ArrayPtr> arrays_of(const States& states) {
  std::map<std::string, ArrayPtr> arrays;
  for (const auto& [name, array] : states) arrays.emplace(name, std::make_shared<Array>(array));
  return arrays;
}

/// The configuration with the cuts of a file in place of a search or annotations.
JobConfig with_cuts(JobConfig config, const std::optional<std::pair<std::string, py::dict>>& cuts) {
  if (!cuts) return config;
  config.plan.given = GivenPlan{.file = cuts->first, .cuts = named_cuts(cuts->second, cuts->first)};
  config.plan.options.dataset = {};
  config.plan.options.search = {};
  return config;
}

/// Scale of the loss, good and bad steps, name of what it measures, file.
using ScaleNumbers = std::tuple<double, double, double, std::string, std::string>;

/// Returns the scale of these numbers, as a file has them. Throws InvalidFile if they are none of a scale.
KeptLossScale scale_of(const ScaleNumbers& numbers) {
  const auto& [scale, good_steps, bad_steps, measures, path] = numbers;
  const std::optional<LossScaleState> state = loss_scale_state(scale, good_steps, bad_steps);
  if (!state) {
    throw InvalidFile(
        fmt::format("[resume] {}a bad loss scale, got {}, {}, {}, expected a number from 1 and two counts",
                    path.empty() ? "" : path + ": ", scale, good_steps, bad_steps));
  }
  return {.state = *state, .measures = measures, .path = path};
}

class PythonModel {
 public:
  PythonModel(const std::string& name, py::function forward, const std::optional<py::function>& loss,
              const OptionTexts& options, bool alone, const std::optional<std::pair<std::string, py::function>>& update,
              const std::optional<std::pair<std::string, py::dict>>& cuts, const ScopePrecisions& precisions)
      : network_(network_of(name, std::move(forward), loss, precisions)),
        model_(network_, with_cuts(config_of(options), cuts), place_of(alone)) {
    // A script asks for optimizer sharding whatever its optimizer is.
    for (const auto& [key, values] : options) {
      if (!key.starts_with("plan.zero")) said_.insert(key);
    }
    if (update) {
      const auto add = [function = kept(update->second)](Builder& builder, Value parameter, Value gradient,
                                                         Value rate) {
        const py::gil_scoped_acquire gil;
        const TracePtr trace = Trace::of(builder);
        const OpenTrace open(trace);
        (*function)(trace, Symbol{trace, parameter.id()}, Symbol{trace, gradient.id()}, Symbol{trace, rate.id()});
      };
      model_.update_by(add, update->first);
    }
    model_.on_warning([](const std::string& message) {
      const py::gil_scoped_acquire gil;
      py::module_::import("partita._warnings").attr("warn")(message);
    });
  }

  /// Trains for `epochs` epochs, from the scale of the loss `loss_scale` if that is given. Returns the signal that
  /// ended the training, 0 if none did. With `watches_signals`, SIGTERM and SIGHUP also end it, after the current step;
  /// without it, an interrupt raises KeyboardInterrupt.
  int train(const py::object& rows, int64_t epochs, const py::object& target, const py::object& validation,
            bool watches_signals, const std::optional<ScaleNumbers>& loss_scale) {
    PythonCallback callback(target);
    FitOptions fit{
        .epochs = epochs, .observers = {&callback}, .prints = false, .is_said = [this](std::string_view key) {
          return said_.contains(std::string(key));
        }};
    if (!validation.is_none()) fit.validation = dataset_of(validation);
    if (loss_scale) fit.loss_scale = scale_of(*loss_scale);
    fit.ended = [this](const TrainingEnd& end) { loss_scale_ = end.loss_scale; };
    const DatasetPtr dataset = dataset_of(rows);
    if (watches_signals) {
      fit.signals = &SignalGuard::requests;
      const SignalGuard guard;
      const py::gil_scoped_release release;
      return model_.train(dataset, fit).stopped_by;
    }
    {
      const InterruptScope interrupts;
      const py::gil_scoped_release release;
      model_.train(dataset, fit);
    }
    if (interrupt_received.exchange(false)) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw py::error_already_set();
    }
    return 0;
  }

  std::shared_ptr<Program> program(const py::object& rows) {
    const DatasetPtr dataset = dataset_of(rows);
    const py::gil_scoped_release release;
    return std::make_shared<Program>(model_.training_program(dataset));
  }

  /// Returns the planner's request for a training on these rows.
  PlanRequest plan_request(const py::object& rows) const {
    return {.network = TrainedNetwork{network_, model_.config(), dataset_of(rows)->columns()}};
  }

  Metrics eval(const py::object& rows) {
    const DatasetPtr dataset = dataset_of(rows);
    const py::gil_scoped_release release;
    return model_.eval(dataset);
  }

  std::map<std::string, ArrayPtr> predict(const std::vector<std::pair<std::string, ArrayPtr>>& columns) {
    NamedArrays given;
    for (const auto& [name, array] : columns) given.emplace_back(name, *array);
    NamedArrays found;
    {
      const py::gil_scoped_release release;
      found = model_.predict(given);
    }
    std::map<std::string, ArrayPtr> outputs;
    for (auto& [name, array] : found) outputs.emplace(name, std::make_shared<Array>(std::move(array)));
    return outputs;
  }

  /// The scale of the loss after the last training; none if it does not leave out bad steps.
  std::optional<ScaleNumbers> loss_scale() const {
    if (!loss_scale_) return std::nullopt;
    const auto& [state, measures, path] = *loss_scale_;
    return ScaleNumbers(state.scale, static_cast<double>(state.good_steps), static_cast<double>(state.bad_steps),
                        measures, path);
  }

  void assign(const std::map<std::string, ArrayPtr>& values) { model_.assign(states_of(values)); }
  std::map<std::string, ArrayPtr> states() const {
    const py::gil_scoped_release release;
    return arrays_of(model_.states());
  }

 private:
  Network network_;
  std::set<std::string> said_{};  // the options that the script asked for
  std::optional<KeptLossScale> loss_scale_{};
  Model model_;
};

/// A function of Python as a program, called step by step.
class PythonStepper {
 public:
  PythonStepper(const OptionTexts& options, bool alone, const py::function& build, const py::function& initial,
                int64_t groups) {
    const JobConfig config = config_of(options);
    const py::gil_scoped_release release;  // ranks meet
    stepper_.emplace(
        config, place_of(alone),
        [&](Context& context) {
          const py::gil_scoped_acquire gil;
          const TracePtr trace = Trace::of(context);
          const OpenTrace open(trace);
          build(trace);
        },
        [&] {
          const py::gil_scoped_acquire gil;
          return states_of(py::cast<std::map<std::string, ArrayPtr>>(initial()));
        },
        groups);
  }

  std::vector<ArrayPtr> run(const std::vector<std::pair<std::string, ArrayPtr>>& inputs) {
    Stepper::NamedArrays given;
    for (const auto& [name, array] : inputs) given.emplace_back(name, *array);
    const py::gil_scoped_release release;
    std::vector<ArrayPtr> outputs;
    for (Array& array : stepper_->run(given)) outputs.push_back(std::make_shared<Array>(std::move(array)));
    return outputs;
  }

  /// The names of the states that a call changes.
  std::vector<std::string> written() const {
    std::vector<std::string> names;
    for (const State& state : stepper_->graph().states) {
      if (state.exit >= 0) names.push_back(stepper_->graph().values[static_cast<size_t>(state.entry)].name);
    }
    return names;
  }
  std::vector<std::string> states() const {
    std::vector<std::string> names;
    for (const State& state : stepper_->graph().states) {
      names.push_back(stepper_->graph().values[static_cast<size_t>(state.entry)].name);
    }
    return names;
  }
  std::string text() const { return print(stepper_->graph()); }
  ArrayPtr state(const std::string& name) const {
    const py::gil_scoped_release release;
    return std::make_shared<Array>(stepper_->state(name));
  }
  void set_state(const std::string& name, const ArrayPtr& whole) {
    const py::gil_scoped_release release;
    stepper_->set_state(name, *whole);
  }
  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (const Input& input : stepper_->graph().inputs) {
      names.push_back(stepper_->graph().values[static_cast<size_t>(input.value)].name);
    }
    return names;
  }

 private:
  std::optional<Stepper> stepper_;
};

void bind_infos(py::module_& module) {
  py::class_<PythonControl, std::shared_ptr<PythonControl>>(module, "TrainControl")
      .def("stop", [](const PythonControl& control) { control.get().stop(); })
      .def("stopped", [](const PythonControl& control) { return control.get().stopped(); })
      .def("set_learning_rate",
           [](const PythonControl& control, double rate) { control.get().set_learning_rate(rate); })
      .def("set_learning_rates",
           [](const PythonControl& control, int64_t first, const std::vector<double>& rates) {
             control.get().set_learning_rates(first, rates);
           })
      .def("state",
           [](const PythonControl& control, const std::string& name) {
             const TrainControl& training = control.get();
             const py::gil_scoped_release release;  // other ranks take part
             return std::make_shared<Array>(training.state(name));
           })
      .def("save", [](const PythonControl& control, const std::string& path, bool own_part, bool background) {
        control.get().save({.path = path, .own_part = own_part, .background = background});
      });
  py::class_<TrainInfo>(module, "TrainInfo")
      .def_readonly("epochs", &TrainInfo::epochs)
      .def_readonly("steps_per_epoch", &TrainInfo::steps_per_epoch)
      .def_readonly("steps", &TrainInfo::steps)
      .def_readonly("first_step", &TrainInfo::first_step)
      .def_readonly("good_steps", &TrainInfo::good_steps)
      .def_property_readonly("layouts", [](const TrainInfo& info) { return layouts_of(*info.program); })
      .def_property_readonly("cuts", [](const TrainInfo& info) { return cuts_of(*info.program); });
  py::class_<StepInfo>(module, "StepInfo")
      .def_readonly("epoch", &StepInfo::epoch)
      .def_readonly("step", &StepInfo::step)
      .def_readonly("global_step", &StepInfo::global_step)
      .def_readonly("loss", &StepInfo::loss)
      .def_readonly("skipped", &StepInfo::skipped)
      .def_readonly("loss_scale", &StepInfo::loss_scale)
      .def_readonly("seconds", &StepInfo::seconds)
      .def_readonly("elapsed", &StepInfo::elapsed)
      .def_readonly("learning_rate", &StepInfo::learning_rate);
  py::class_<Metrics>(module, "Metrics")
      .def_readonly("samples", &Metrics::samples)
      .def_readonly("loss", &Metrics::loss)
      .def_readonly("classified", &Metrics::classified)
      .def_readonly("others", &Metrics::others)
      .def_property_readonly("accuracy", &Metrics::accuracy)
      .def_property_readonly("top_accuracy", &Metrics::top_accuracy);
  py::class_<EpochInfo>(module, "EpochInfo")
      .def_readonly("epoch", &EpochInfo::epoch)
      .def_readonly("steps", &EpochInfo::steps)
      .def_readonly("seconds", &EpochInfo::seconds)
      .def_readonly("loss", &EpochInfo::loss)
      .def_readonly("validation", &EpochInfo::validation);
}

}  // namespace

void bind_model(py::module_& module) {
  bind_infos(module);
  module.def("build_network", &build_network);
  py::class_<PythonModel>(module, "Model", "A network under a configuration (docs/reference/configuration.md).")
      .def(py::init<const std::string&, py::function, const std::optional<py::function>&, const OptionTexts&, bool,
                    const std::optional<std::pair<std::string, py::function>>&,
                    const std::optional<std::pair<std::string, py::dict>>&, const ScopePrecisions&>())
      .def("train", &PythonModel::train)
      .def("program", &PythonModel::program)
      .def("plan_request", &PythonModel::plan_request)
      .def_property_readonly("loss_scale", &PythonModel::loss_scale)
      .def("eval", &PythonModel::eval)
      .def("predict", &PythonModel::predict)
      .def("assign", &PythonModel::assign)
      .def("states", &PythonModel::states);
  py::class_<PythonStepper>(module, "Stepper", "A function as a program, called step by step.")
      .def(py::init<const OptionTexts&, bool, const py::function&, const py::function&, int64_t>())
      .def("run", &PythonStepper::run)
      .def("written", &PythonStepper::written)
      .def("states", &PythonStepper::states)
      .def("inputs", &PythonStepper::inputs)
      .def("text", &PythonStepper::text)
      .def("state", &PythonStepper::state)
      .def("set_state", &PythonStepper::set_state);
}

}  // namespace partita::python
