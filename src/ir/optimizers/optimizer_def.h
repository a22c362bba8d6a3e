#pragma once
// The definition of an optimizer: everything the system needs to know about it. One file of this folder defines one
// optimizer, or those of one family. Flags, checks of options, the class in Python and the tables of the documentation
// follow from the definition.

#include <map>
#include <optional>

#include "ir/graph/builder.h"

namespace partita {

/// An option of an optimizer: a number or a switch. Optimizers that share an option share its name, range and help;
/// each has a default of its own.
struct OptimizerOption {
  std::string name;     // "beta1": the key optimizer.beta1, the flag --beta1
  double standard = 0;  // default
  /// The value in texts of configurations whose optimizer lacks the option, if it is not the default: one number for
  /// all that have the option.
  std::optional<double> elsewhere = {};
  double least = 0, most = 1;
  std::string help;
  bool is_switch = false;                  // 0 or 1
  bool is_whole = false;                   // an integer
  std::vector<std::string> synonyms = {};  // flags of other programs for which this one is suggested

  double value_elsewhere() const { return elsewhere.value_or(standard); }
};

/// A state that the update keeps for each parameter. States of one name measure the same in all optimizers, so that a
/// training may go on with another one.
struct OptimizerState {
  std::string name;            // "exp_avg": the tensor PARAMETER.exp_avg in files
  std::string what;            // contents, for the documentation
  std::string only_with = "";  // the option that must be above 0 for the optimizer to keep it
  bool of_some = false;        // whether only some parameters have it, and others have other states
};

/// A parameter of the constructor of an optimizer's class in Python.
struct PythonParameter {
  enum Use { number, refused, ignored };

  std::string name;
  std::string standard = "";  // literal of the default; "": the caller gives it
  std::string option = "";    // the option that it sets; "": the one of this name
  Use use = number;           // refused: only the default is supported; ignored: has no effect
};

/// The class of an optimizer in Python, which the package makes from this description; none if the name is empty.
struct PythonClass {
  std::string name;
  std::vector<PythonParameter> parameters = {};            // after `params`
  std::vector<std::pair<std::string, double>> fixed = {};  // options with another value in Python than the default
  /// Whether files name what was measured by the optimizer instead of by the class. Older files of composed optimizers
  /// have names of classes, which new ones keep.
  bool is_named_by_kind = false;
  /// States that older files have under another name: (old name, present name, another state of such a file).
  std::vector<std::array<std::string, 3>> renamed = {};
  /// States that checkpoints of MindSpore have, too: (name, what precedes the name of the parameter there).
  std::vector<std::pair<std::string, std::string>> documented = {};
};

/// The arguments of an update: values of the graph, and the options.
class UpdateCall {
 public:
  using Settings = std::map<std::string, double, std::less<>>;

  UpdateCall(Builder& builder, Value parameter, Value gradient, Value rate, double decay, const Settings& settings)
      : builder(builder), parameter(parameter), gradient(gradient), rate(rate), decay(decay), settings_(settings) {}

  Builder& builder;
  const Value parameter, gradient;
  const Value rate;    // the learning rate, a scalar of the parameter's type
  const double decay;  // weight decay of this parameter

  /// Returns the value of an option. Throws InternalError for one that the optimizer does not list.
  double number(std::string_view option) const;
  bool is_on(std::string_view option) const { return number(option) > 0; }
  /// Returns the state PARAMETER.NAME of the parameter's type, which begins as zeros, or with an initializer.
  Value state(const std::string& name, const Initializer& begin = {}) const {
    return state(name, parameter.type(), begin);
  }
  /// Returns the state PARAMETER.NAME of another type.
  Value state(const std::string& name, const Type& type, const Initializer& begin = {}) const;
  /// Returns the number of steps before this one, an i64. Trainings increment it.
  Value steps() const;
  Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs = {}) const {
    return builder.apply(op, operands, attrs);
  }
  /// Applies a fused update and stores its results: in the order of `states`.
  void store_results(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs,
                     const std::vector<Value>& states) const;

 private:
  const Settings& settings_;
};

/// Definition of one optimizer. Members without a default are required.
struct OptimizerDef {
  std::string name;     // "adam": --optimizer adam
  std::string summary;  // formula and source
  std::vector<OptimizerState> states = {};
  std::vector<OptimizerOption> options = {};
  bool counts_steps = false;  // whether the update depends on the number of steps
  /// Appends the nodes of the update of one parameter, and stores the new parameter and states. Throws InvalidArgument
  /// for options that do not fit each other.
  std::function<void(const UpdateCall&)> build;
  std::vector<OpDef> ops = {};  // the ops that only this optimizer uses
  PythonClass python = {};

  /// Returns the option of this name, or null.
  const OptimizerOption* find(std::string_view option) const;
};

}  // namespace partita
