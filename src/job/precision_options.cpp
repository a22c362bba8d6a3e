#include "job/precision_options.h"

#include "base/error.h"

namespace partita {
namespace {

LayerPrecision layer_precision(const std::string& text) {
  const size_t equals = text.rfind('=');
  const std::string name = equals == std::string::npos ? "" : text.substr(equals + 1);
  for (const MixedPrecision precision : {MixedPrecision::f32, MixedPrecision::bf16, MixedPrecision::f16}) {
    if (equals > 0 && name == name_of(precision)) return {text.substr(0, equals), precision};
  }
  throw InvalidArgument(
      "[--precision-of] not a precision of layers, got '{}', expected LAYERS=f32, LAYERS=bf16 or LAYERS=f16, such as "
      "net/h/0..5=f32",
      text);
}

}  // namespace

PrecisionOptions precision_options(const TrainingConfig& config, const ScopePrecisions& of_network) {
  PrecisionOptions options{.precision = config.precision, .residual = config.residual};
  if (config.reduce_dtype == ReduceDType::bf16) options.reductions = DType::bf16;
  for (const std::string& text : config.precision_of) options.layers.push_back(layer_precision(text));
  for (const auto& [scope, name] : of_network) {
    options.layers.push_back({scope, parse_name<MixedPrecision>("network", name), /*is_required=*/false});
  }
  if (has_halves(options)) return options;
  if (!config.precision_of.empty()) {
    throw InvalidArgument(
        "[--precision-of] has no effect, got {} with --precision f32, expected --precision bf16 or no --precision-of",
        config.precision_of.front());
  }
  if (options.residual == Residual::f32) {
    throw InvalidArgument(
        "[--residual] has no effect, got f32 with --precision f32, expected --precision bf16 or no --residual");
  }
  return options;
}

}  // namespace partita
