#include "frontend/network/network.h"

namespace partita {

Value find_output(const NamedValues& outputs, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [own, value] : outputs) {
    if (own == name) return value;
    names.push_back(own);
  }
  throw unknown_name("[network] unknown output", name, fmt::format("one of [{}]", fmt::join(names, ", ")), names);
}

Network::Network(std::string name, Forward forward, LossFunction loss, CallLocation where)
    : name_(std::move(name)), forward_(std::move(forward)), loss_(std::move(loss)), where_(source_location(where)) {
  if (!forward_) {
    throw InvalidArgument("[graph] the network has no layers, got nothing, expected a layer or a function");
  }
}

namespace {

/// Returns the columns called `names`, in this order, or the first one that is not "label" if `names` is empty. Throws
/// InvalidArgument as `Columns::at` or `Columns::first` does.
std::vector<Value> inputs_of(Columns& columns, const std::vector<std::string>& names) {
  if (names.empty()) return {columns.first()};
  std::vector<Value> inputs;
  for (const std::string& name : names) inputs.push_back(columns.at(name));
  return inputs;
}

Network::Forward forward_through(LayerPtr layers, std::vector<std::string> inputs) {
  if (layers == nullptr) return {};
  return [layers = std::move(layers), inputs = std::move(inputs)](Context& context, Columns& columns) -> NamedValues {
    return {{"logits", context.call_network(*layers, inputs_of(columns, inputs))}};
  };
}

Network::LossFunction loss_of_logits(Loss loss, const LossOptions& options) {
  return [loss, options](Context&, Columns& columns, const NamedValues& outputs) -> NamedValues {
    const Value logits = find_output(outputs, "logits");
    if (logits.type().rank() < 2) {
      throw InvalidArgument("[graph] the network does not end in logits, got {}, expected [batch, .., classes]",
                            print(logits.type()));
    }
    return {{"loss", build_loss(loss, columns.builder(), logits, columns.as_given("label"), options)}};
  };
}

}  // namespace

Network::Network(std::string name, LayerPtr layers, Loss loss, CallLocation where)
    : Network(std::move(name), std::move(layers), std::vector<std::string>(), loss, LossOptions(), where) {}

Network::Network(std::string name, LayerPtr layers, Loss loss, const LossOptions& options, CallLocation where)
    : Network(std::move(name), std::move(layers), std::vector<std::string>(), loss, options, where) {}

Network::Network(std::string name, LayerPtr layers, const std::vector<std::string>& inputs, Loss loss,
                 const LossOptions& options, CallLocation where)
    : Network(std::move(name), forward_through(layers, inputs), loss_of_logits(loss, options), where) {
  loss_options_ = options;
  loss_kind_ = loss;
  if (layers != nullptr) where_ = layers->where();
}

}  // namespace partita
