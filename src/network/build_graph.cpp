#include "network/build_graph.h"

#include "network/losses.h"

namespace partita {
namespace {

void check(const Network& network, const BuildOptions& options) {
  if (network.net == nullptr) {
    throw InvalidArgument("[graph] the network has no layers, got nothing, expected a layer");
  }
  if (!is_float(options.dtype)) {
    throw InvalidArgument(fmt::format("[graph] parameters are not floats, got {}, expected f64, f32, bf16 or f16",
                                      name_of(options.dtype)),
                          ErrorKind::type);
  }
  if (options.batch < 1) {
    throw InvalidArgument(fmt::format("[graph] no samples in a batch, got {}, expected at least 1", options.batch));
  }
}

Value batch_input(Builder& builder, const std::string& name, const Type& sample, int64_t batch) {
  Type type{sample.dtype, {batch}};
  type.shape.insert(type.shape.end(), sample.shape.begin(), sample.shape.end());
  require_layer_shape(name, type.shape);
  return builder.input(name, type, /*batch_dim=*/0);
}

}  // namespace

Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options) {
  check(network, options);
  Builder builder(ops, network.name);
  const Type sample{options.image_dtype.value_or(options.dtype), options.image};
  const Value image = batch_input(builder, options.input, sample, options.batch);
  const Value label = batch_input(builder, "label", options.label, options.batch);
  Context context(
      builder,
      {.dtype = options.dtype, .training = options.training, .norm_groups = options.norm_groups, .seed = options.seed});
  const Value logits = context.call_network(*network.net, image);
  if (logits.type().rank() < 2) {
    throw InvalidArgument(fmt::format(
        "[graph] the network does not end in logits, got {}, expected [batch, .., classes]", print(logits.type())));
  }
  builder.scope = "loss";
  builder.source = network.net->where();
  const Value loss = build_loss(options.loss, builder, logits, label);
  builder.output("loss", loss);
  builder.output("logits", logits);
  return builder.take();
}

}  // namespace partita
