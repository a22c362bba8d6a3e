#include "network/build_graph.h"

#include "network/losses.h"

namespace partita {

Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options) {
  if (options.batch < 1) {
    throw InvalidArgument(fmt::format("[graph] no samples in a batch, got {}, expected at least 1", options.batch));
  }
  if (options.norm_groups < 1 || options.batch % options.norm_groups != 0) {
    throw InvalidArgument(
        fmt::format("[batch_norm] the batch does not divide into groups, got batch {} in {} groups, "
                    "expected a multiple of {}",
                    options.batch, options.norm_groups, options.norm_groups));
  }
  Builder builder(ops, network.name);
  Shape shape{options.batch};
  shape.insert(shape.end(), options.image.begin(), options.image.end());
  const Value image = builder.input("image", Type{options.dtype, shape}, /*batch_dim=*/0);
  const Value label = builder.input("label", Type{DType::i32, {options.batch}}, /*batch_dim=*/0);
  Context context(
      builder,
      {.dtype = options.dtype, .training = options.training, .norm_groups = options.norm_groups, .seed = options.seed});
  builder.scope = "net";
  builder.source = network.net->where();
  const Value logits = network.net->construct(context, image);
  if (logits.type().rank() != 2) {
    throw InvalidArgument(fmt::format("[graph] the network does not end in logits, got {}, expected [batch, classes]",
                                      print(logits.type())));
  }
  builder.scope = "loss";
  const Value loss = build_loss(options.loss, builder, logits, label);
  builder.output("loss", loss);
  builder.output("logits", logits);
  return builder.take();
}

}  // namespace partita
