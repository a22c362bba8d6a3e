#include "job/precision_options.h"

#include "base/error.h"

namespace partita {

PrecisionOptions precision_options(const TrainingConfig& config, const ScopePrecisions& of_network) {
  PrecisionOptions options{.precision = config.precision};
  for (const std::string& text : config.precision_of) {
    const size_t equals = text.rfind('=');
    const bool is_full =
        equals != std::string::npos && equals > 0 && text.substr(equals + 1) == name_of(MixedPrecision::f32);
    if (!is_full) {
      throw InvalidArgument(
          fmt::format("[--precision-of] not a precision of a layer, got '{}', expected LAYER=f32", text));
    }
    options.layers.push_back({text.substr(0, equals), MixedPrecision::f32});
  }
  if (!options.layers.empty() && options.precision == MixedPrecision::f32) {
    throw InvalidArgument(
        fmt::format("[--precision-of] has no effect, got {} with --precision f32, expected --precision "
                    "bf16 or no --precision-of",
                    config.precision_of.front()));
  }
  for (const auto& [scope, name] : of_network) {
    options.layers.push_back({scope, parse_name<MixedPrecision>("network", name), /*is_required=*/false});
  }
  return options;
}

}  // namespace partita
