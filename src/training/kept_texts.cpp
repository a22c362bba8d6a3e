#include "training/kept_texts.h"

#include <fmt/format.h>

#include <set>

namespace partita {
namespace {

/// Returns the key of the text of callback number `number` with the key `key`, from 1.
std::string numbered(const std::string& key, int number) {
  return number == 1 ? key : fmt::format("{} {}", key, number);
}

std::string measured_by(const Callback& callback, const TrainInfo& info) {
  std::string own = callback.measures();
  return own.empty() ? either_loss(info.training_loss, info.validation_loss) : own;
}

}  // namespace

std::string either_loss(const std::string& training, const std::string& validation) {
  return training + "; " + (validation.empty() ? "no validation" : validation);
}

std::string or_unnamed(const std::string& measure) { return measure.empty() ? "what it does not name" : measure; }

std::map<std::string, KeptText> saved_texts(const std::vector<Callback*>& callbacks, const TrainInfo& info) {
  std::map<std::string, KeptText> saved;
  for (const Callback* callback : callbacks) {
    const std::string key = callback->kept_as();
    if (key.empty()) continue;
    int number = 1;
    while (saved.contains(numbered(key, number))) ++number;
    saved.emplace(numbered(key, number), KeptText{callback->saved(), measured_by(*callback, info)});
  }
  return saved;
}

void restore_texts(const std::vector<Callback*>& callbacks, const std::map<std::string, KeptText>& saved,
                   const TrainInfo& info, const std::string& path,
                   const std::function<void(const std::string&)>& warn) {
  std::set<std::string> known, restored;
  const auto say = [&](const std::string& message) {
    if (warn) warn(fmt::format("[resume] {}: {}", path, message));
  };
  for (Callback* callback : callbacks) {
    const std::string key = callback->kept_as(), expected = key.empty() ? "" : measured_by(*callback, info);
    if (key.empty() || !saved.contains(key)) continue;
    bool is_restored = false;
    for (int number = 1; saved.contains(numbered(key, number)); ++number) {
      const std::string own = numbered(key, number);
      known.insert(own);
      const KeptText& kept = saved.at(own);
      if (is_restored || kept.measures != expected || !restored.insert(own).second) continue;
      callback->restore(kept.text);
      is_restored = true;
    }
    if (is_restored) continue;
    say(fmt::format("'{}' begins anew, got its state of {} in the checkpoint, expected one of {}", key,
                    or_unnamed(saved.at(key).measures), expected));
  }
  for (const auto& [key, kept] : saved) {
    if (!known.contains(key)) say(fmt::format("no callback goes on with the state of '{}'", key));
  }
}

}  // namespace partita
