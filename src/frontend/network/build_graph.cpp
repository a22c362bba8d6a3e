#include "frontend/network/build_graph.h"

#include <algorithm>

#include "frontend/network/functions.h"
#include "ir/ops/constant.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

void check(const BuildOptions& options) {
  if (is_float(options.dtype)) return;
  throw InvalidArgument(ErrorKind::type, "[graph] parameters are not floats, got {}, expected f64, f32, bf16 or f16",
                        name_of(options.dtype));
}

/// Appends the losses that layers have added to `losses`, in order and unweighted, and in a training adds their
/// weighted values to "loss". Throws InvalidArgument if a name is in `losses` already.
void add_losses_of_layers(NamedValues& losses, const std::vector<AddedLoss>& added) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find_if(losses, [&](const auto& entry) { return entry.first == name; });
  };
  for (const auto& [name, sum, weighted] : added) {
    if (find(name) != losses.end()) {
      throw InvalidArgument(
          "[loss] two losses have the same name, got '{}' of a layer and of the network, expected another name", name);
    }
    const auto loss = find("loss");
    if (weighted) loss->second = add(loss->second, weighted);
    losses.emplace_back(name, sum);
  }
}

NamedValues build_losses(const Network& network, Context& context, Columns& columns, const NamedValues& outputs) {
  if (!network.loss()) {
    throw InvalidArgument("[loss] network '{}' has no loss, got nothing to minimise, expected a function",
                          network.name());
  }
  NamedValues losses = network.loss()(context, columns, outputs);
  find_output(losses, "loss");
  for (const auto& [name, value] : losses) {
    if (value && value.type().rank() == 0 && is_float(value.dtype())) continue;
    throw InvalidArgument("[loss] '{}' is not a mean over the batch, got {}, expected a scalar float", name,
                          value ? print(value.type()) : "an empty value");
  }
  add_losses_of_layers(losses, context.added_losses());
  return losses;
}

/// Returns the places of tokens whose texts begin in caches of `rows` rows: each sees the tokens up to its own.
TokenPlaces places_in_cache(Columns& columns, int64_t rows) {
  const Value positions = columns.as_given(kPositionColumn);
  return {.positions = positions,
          .first = constant(columns.builder(), 0, positions.type()),
          .last = positions,
          .cache = rows};
}

/// Returns the places of tokens in rows of documents: each sees the tokens of its document up to its own.
TokenPlaces places_in_documents(Columns& columns) {
  const Value first = columns.as_given(kDocumentColumn);
  if (first.dtype() != DType::i32 || first.type().rank() != 2) {
    throw InvalidArgument("[graph] column '{}' has no place per token, got {}, expected i32[batch,s]", kDocumentColumn,
                          print(first.type()));
  }
  const Value last =
      columns.builder().apply("iota", {}, IotaAttrs{.axis = 1, .dtype = DType::i32, .shape = first.shape()});
  return {.positions = sub(last, first), .first = first, .last = last};
}

}  // namespace

Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options) {
  check(options);
  Builder builder(ops, network.name());
  Columns columns(builder, options.columns, options.batch, options.dtype);
  Context context(builder, {.dtype = options.dtype,
                            .training = options.purpose == Purpose::training,
                            .statistics_groups = options.statistics_groups,
                            .generates = options.purpose == Purpose::generation,
                            .seed = options.seed});
  builder.source = network.where();
  builder.scope = "net";
  if (options.cache > 0) context.place(places_in_cache(columns, options.cache));
  if (columns.contains(kDocumentColumn)) context.place(places_in_documents(columns));
  const NamedValues outputs = network.forward()(context, columns);
  if (options.purpose == Purpose::training || options.purpose == Purpose::evaluation) {
    builder.scope = "loss";
    builder.source = network.where();
    for (const auto& [name, value] : build_losses(network, context, columns, outputs)) builder.output(name, value);
  }
  context.store_statistics();  // also those of layers that a loss calls
  for (const auto& [name, value] : outputs) builder.output(name, value);
  return builder.take();
}

}  // namespace partita
