#include "network/network.h"

namespace partita {

Value find_output(const NamedValues& outputs, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [own, value] : outputs) {
    if (own == name) return value;
    names.push_back(own);
  }
  throw InvalidArgument(fmt::format("[network] no such output, got '{}', expected one of [{}]{}", name,
                                    fmt::join(names, ", "), did_you_mean(name, names)),
                        ErrorKind::key);
}

Network::Network(std::string name, Forward forward, LossFunction loss, CallLocation where)
    : name_(std::move(name)), forward_(std::move(forward)), loss_(std::move(loss)), where_(source_location(where)) {
  if (!forward_) {
    throw InvalidArgument("[graph] the network has no layers, got nothing, expected a layer or a function");
  }
}

Network::Network(std::string name, LayerPtr layers, Loss loss, CallLocation where)
    : Network(std::move(name), std::move(layers), loss, LossOptions(), where) {}

Network::Network(std::string name, LayerPtr layers, Loss loss, const LossOptions& options, CallLocation where)
    : Network(
          std::move(name),
          layers == nullptr ? Forward() : [layers](Context& context, Columns& columns) -> NamedValues {
            return {{"logits", context.call_network(*layers, columns.first())}};
          },
          [loss, options](Context&, Columns& columns, const NamedValues& outputs) -> NamedValues {
            const Value logits = find_output(outputs, "logits");
            if (logits.type().rank() < 2) {
              throw InvalidArgument(
                  fmt::format("[graph] the network does not end in logits, got {}, expected [batch, .., classes]",
                              print(logits.type())));
            }
            return {{"loss", build_loss(loss, columns.builder(), logits, columns.as_given("label"), options)}};
          },
          where) {
  loss_options_ = options;
  if (layers != nullptr) where_ = layers->where();
}

}  // namespace partita
