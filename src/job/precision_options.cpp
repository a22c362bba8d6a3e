#include "job/precision_options.h"

#include "base/error.h"

namespace partita {

PrecisionOptions precision_options(const TrainingConfig& config) {
  PrecisionOptions options{.precision = config.precision};
  for (const std::string& text : config.precision_of) {
    const size_t equals = text.rfind('=');
    const bool is_full =
        equals != std::string::npos && equals > 0 && text.substr(equals + 1) == name_of(MixedPrecision::f32);
    if (!is_full) {
      throw InvalidArgument(
          fmt::format("[--precision-of] not a precision of a layer, got '{}', expected LAYER=f32", text));
    }
    options.full_layers.push_back(text.substr(0, equals));
  }
  if (!options.full_layers.empty() && options.precision == MixedPrecision::f32) {
    throw InvalidArgument(
        fmt::format("[--precision-of] has no effect, got {} with --precision f32, expected --precision "
                    "bf16 or no --precision-of",
                    config.precision_of.front()));
  }
  return options;
}

}  // namespace partita
