#pragma once
// What the user wrote: from the columns of a batch to named outputs, and from these to a loss.

#include <functional>

#include "frontend/network/columns.h"
#include "frontend/network/layer.h"
#include "frontend/network/losses.h"

namespace partita {

/// Named values in an order of their own: {{"logits", y}}.
using NamedValues = std::vector<std::pair<std::string, Value>>;

/// The value called `name`; throws InvalidArgument with the nearest name.
Value find_output(const NamedValues& outputs, std::string_view name);

class Network {
 public:
  using Forward = std::function<NamedValues(Context&, Columns&)>;
  /// Scalars: the first is called "loss" and is what a training minimises, others are shown next to it. Each is a mean
  /// over the samples of the global batch.
  using LossFunction = std::function<NamedValues(Context&, Columns&, const NamedValues&)>;

  /// Any number of inputs and outputs. Names begin the names of graphs.
  Network(std::string name, Forward forward, LossFunction loss, CallLocation where = CallLocation::current());
  /// The first column that is not "label", through `layers`, is "logits"; the loss compares them with "label".
  Network(std::string name, LayerPtr layers, Loss loss = Loss::sparse, CallLocation where = CallLocation::current());
  Network(std::string name, LayerPtr layers, Loss loss, const LossOptions& options,
          CallLocation where = CallLocation::current());

  /// The columns called `inputs`, through `layers`.
  Network(std::string name, LayerPtr layers, const std::vector<std::string>& inputs, Loss loss = Loss::sparse,
          const LossOptions& options = {}, CallLocation where = CallLocation::current());

  const std::string& name() const { return name_; }
  const Forward& forward() const { return forward_; }
  const LossFunction& loss() const { return loss_; }
  /// Of a network whose loss compares logits with labels; of another one the default.
  const LossOptions& loss_options() const { return loss_options_; }
  /// The loss that compares logits with labels; none where it is a function.
  const std::optional<Loss>& loss_kind() const { return loss_kind_; }
  const SourceLocation& where() const { return where_; }

 private:
  std::string name_;
  Forward forward_;
  LossFunction loss_;
  LossOptions loss_options_;
  std::optional<Loss> loss_kind_;
  SourceLocation where_;
};

}  // namespace partita
