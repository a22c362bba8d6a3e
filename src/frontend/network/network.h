#pragma once
// A network as the user wrote it: from the columns of a batch to named outputs, and from these to a loss.

#include <functional>

#include "frontend/network/columns.h"
#include "frontend/network/layer.h"
#include "frontend/network/losses.h"

namespace partita {

/// Named values in their order: {{"logits", y}}.
using NamedValues = std::vector<std::pair<std::string, Value>>;

/// Returns the value called `name`. Throws InvalidArgument with the nearest name if there is none.
Value find_output(const NamedValues& outputs, std::string_view name);

/// A named forward function with a loss.
class Network {
 public:
  using Forward = std::function<NamedValues(Context&, Columns&)>;
  /// Returns named scalars from the batch's columns and the outputs that Forward returned. The one called "loss", by
  /// convention the first, is minimized; others are shown next to it. Each is a mean over the samples of the global
  /// batch.
  using LossFunction = std::function<NamedValues(Context&, Columns&, const NamedValues&)>;

  /// A network with any number of inputs and outputs. `name` becomes the name of its graphs, and `where` the source
  /// line of nodes outside layers. An empty `loss` allows predictions only. Throws InvalidArgument if `forward` is
  /// empty.
  Network(std::string name, Forward forward, LossFunction loss, CallLocation where = CallLocation::current());
  /// A network of layers: the first column that is not "label", passed through `layers`, is "logits", and the loss
  /// compares them with "label". Its source line is that of `layers`, not `where`. Throws InvalidArgument if `layers`
  /// is null.
  Network(std::string name, LayerPtr layers, Loss loss = Loss::sparse, CallLocation where = CallLocation::current());
  Network(std::string name, LayerPtr layers, Loss loss, const LossOptions& options,
          CallLocation where = CallLocation::current());

  /// A network of layers: the columns called `inputs`, in this order, are the inputs of `layers`, whose first result is
  /// "logits", and the loss compares them with "label". If `inputs` is empty, the first column that is not "label" is
  /// passed. Its source line is that of `layers`, not `where`. Throws InvalidArgument if `layers` is null.
  Network(std::string name, LayerPtr layers, const std::vector<std::string>& inputs, Loss loss = Loss::sparse,
          const LossOptions& options = {}, CallLocation where = CallLocation::current());

  const std::string& name() const { return name_; }
  const Forward& forward() const { return forward_; }
  const LossFunction& loss() const { return loss_; }
  /// Options of a loss that compares logits with labels; the defaults for other networks.
  const LossOptions& loss_options() const { return loss_options_; }
  /// The loss that compares logits with labels; nothing if the loss is a function.
  const std::optional<Loss>& loss_kind() const { return loss_kind_; }
  const SourceLocation& where() const { return where_; }
  /// Sets the precisions of products in scopes of the network, next to those of a configuration.
  void set_precisions(ScopePrecisions precisions) { precisions_ = std::move(precisions); }
  const ScopePrecisions& precisions() const { return precisions_; }

 private:
  std::string name_;
  Forward forward_;
  LossFunction loss_;
  LossOptions loss_options_;
  std::optional<Loss> loss_kind_;
  SourceLocation where_;
  ScopePrecisions precisions_;
};

}  // namespace partita
