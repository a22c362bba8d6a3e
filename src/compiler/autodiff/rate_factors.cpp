#include "compiler/autodiff/rate_factors.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "base/wildcard.h"

namespace partita {

std::vector<double> rate_factors(const std::vector<std::string>& rates, const std::vector<std::string>& parameters) {
  constexpr double kMaxRate = 1000;
  std::vector<double> factors(parameters.size(), 1);
  for (const std::string& text : rates) {
    const size_t equals = std::min(text.rfind('='), text.size());
    const std::string pattern = text.substr(0, equals);
    const std::optional<double> factor = parse_number<double>(text.substr(std::min(equals + 1, text.size())));
    if (pattern.empty() || !factor || !(*factor >= 0 && *factor <= kMaxRate)) {
      throw InvalidArgument(
          "[--rate-of] not a factor of the learning rate, got '{}', expected PARAMETERS=0 to {}, such as h.0.*=0.1",
          text, kMaxRate);
    }
    bool is_used = false;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!matches_wildcard(pattern, parameters[i])) continue;
      factors[i] = *factor;
      is_used = true;
    }
    if (!is_used) {
      throw InvalidArgument(
          "[--rate-of] a pattern names nothing, got '{}', expected names of trained parameters, such as "
          "{}",
          pattern, parameters.empty() ? "h.0.*" : parameters.front());
    }
  }
  return factors;
}

}  // namespace partita
