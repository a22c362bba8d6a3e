#include "runtime/checkpoint/position.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"

namespace partita {
namespace {

constexpr double kMaxSteps = 0x1p53;
constexpr const char* kLosses = "partita.losses";
constexpr std::string_view kCallback = "partita.callback.", kMeasures = "partita.measures.";
constexpr std::string_view kOfCallback = "callback.";

/// Parses "SUM STEPS UNCOUNTED", in any locale; none for other texts.
std::optional<EpochLosses> parse_losses_of_epoch(std::string_view text) {
  EpochLosses losses;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto read = [&](auto& number, bool is_last) {
    const auto [rest, failure] = std::from_chars(at, end, number);
    if (failure != std::errc() || (is_last ? rest != end : rest == end || *rest != ' ')) return false;
    at = rest + 1;
    return true;
  };
  const bool is_read = read(losses.sum, false) && read(losses.steps, false) && read(losses.uncounted, true);
  const bool is_legal = is_read && std::isfinite(losses.sum) && losses.uncounted >= 0 &&
                        losses.uncounted <= losses.steps && losses.steps <= static_cast<int64_t>(kMaxSteps);
  return is_legal ? std::optional(losses) : std::nullopt;
}

/// Removes the entries of `metadata` whose keys begin with `prefix`, and returns them without it.
Metadata take_prefixed(Metadata& metadata, std::string_view prefix) {
  Metadata taken;
  for (auto entry = metadata.lower_bound(std::string(prefix));
       entry != metadata.end() && entry->first.starts_with(prefix);) {
    taken.emplace(entry->first.substr(prefix.size()), std::move(entry->second));
    entry = metadata.erase(entry);
  }
  return taken;
}

}  // namespace

std::optional<LossScaleState> loss_scale_state(double scale, double good_steps, double bad_steps) {
  const auto is_count = [](double count) { return count >= 0 && count <= kMaxSteps && count == std::floor(count); };
  const bool is_legal = scale >= 1 && scale <= LossScaleState::kMaxScale && is_count(good_steps) && is_count(bad_steps);
  if (!is_legal) return std::nullopt;
  return LossScaleState{scale, static_cast<int64_t>(good_steps), static_cast<int64_t>(bad_steps)};
}

std::map<std::string, std::string> all_measures(const TrainingPosition& position) {
  std::map<std::string, std::string> all = position.measures;
  for (const auto& [key, kept] : position.callbacks) {
    if (!kept.measures.empty()) all.emplace(std::string(kOfCallback) + key, kept.measures);
  }
  return all;
}

void set_measures(TrainingPosition& position, const std::map<std::string, std::string>& all) {
  position.measures = all;
  Metadata of_callbacks = take_prefixed(position.measures, kOfCallback);
  for (auto& [key, kept] : position.callbacks) {
    if (const auto own = of_callbacks.find(key); own != of_callbacks.end()) kept.measures = own->second;
  }
}

std::map<std::string, std::string> measures_in(const Metadata& metadata) {
  Metadata rest = metadata;
  return take_prefixed(rest, kMeasures);
}

Metadata metadata_of(const TrainingPosition& position) {
  Metadata metadata = position.metadata;
  const EpochLosses& epoch = position.epoch;
  metadata[kLosses] = fmt::format("{} {} {}", epoch.sum, epoch.steps, epoch.uncounted);
  for (const auto& [key, kept] : position.callbacks) metadata[std::string(kCallback) + key] = kept.text;
  for (const auto& [name, text] : all_measures(position)) metadata[std::string(kMeasures) + name] = text;
  return metadata;
}

void take_from_metadata(TrainingPosition& position, const std::string& path) {
  Metadata& metadata = position.metadata;
  if (const auto losses = metadata.find(kLosses); losses != metadata.end()) {
    const std::optional<EpochLosses> epoch = parse_losses_of_epoch(losses->second);
    if (!epoch) {
      throw InvalidFile("[resume] {}: bad losses of the epoch, got '{}' in '{}', expected a sum and two counts", path,
                        losses->second, kLosses);
    }
    position.epoch = *epoch;
    metadata.erase(losses);
  }
  for (auto& [key, text] : take_prefixed(metadata, kCallback)) position.callbacks[key].text = text;
  set_measures(position, take_prefixed(metadata, kMeasures));
}

}  // namespace partita
