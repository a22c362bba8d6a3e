#include "runtime/checkpoint/documented_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ir/optimizers/registry.h"

namespace partita {
namespace {

// The last part of a name, and of the same parameter in MindSpore.
constexpr std::pair<std::string_view, std::string_view> kDocumentedParts[] = {{"weight", "gamma"},
                                                                              {"weight", "embedding_table"},
                                                                              {"bias", "beta"},
                                                                              {"running_mean", "moving_mean"},
                                                                              {"running_var", "moving_variance"}};

bool is_state(const std::string& name, const std::map<std::string, Array>& tensors) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return false;
  const std::vector<std::string>& prefixes = documented_state_prefixes();
  const bool is_known = std::ranges::find(prefixes, name.substr(0, dot)) != prefixes.end();
  return is_known && tensors.contains(name.substr(dot + 1));
}

/// Whether a tensor is a number of a training, such as "global_step" or an entry of append_dict; "learning_rate" may
/// have one for each step.
bool is_number(const std::string& name, const Array& array) {
  return name.find('.') == std::string::npos && (array.type().elements() == 1 || name == "learning_rate");
}

}  // namespace

void use_expected_names(std::map<std::string, Array>& tensors, const std::vector<std::string>& expected) {
  const std::unordered_set<std::string_view> own(expected.begin(), expected.end());
  for (const std::string& name : expected) {
    const size_t last = name.rfind('.') + 1;  // 0 if there is no dot
    for (const auto& [part, documented] : kDocumentedParts) {
      if (tensors.contains(name) || std::string_view(name).substr(last) != part) continue;
      const std::string other = name.substr(0, last) + std::string(documented);
      if (own.contains(other)) continue;
      if (auto node = tensors.extract(other)) {
        node.key() = name;
        tensors.insert(std::move(node));
      }
    }
  }
}

std::vector<std::string> take_training_states(std::map<std::string, Array>& tensors,
                                              const std::vector<std::string>& expected) {
  const std::unordered_set<std::string_view> own(expected.begin(), expected.end());
  std::vector<std::string> states, numbers;
  for (const auto& [name, array] : tensors) {
    if (own.contains(name)) continue;
    if (is_state(name, tensors)) {
      states.push_back(name);
    } else if (is_number(name, array)) {
      numbers.push_back(name);
    }
  }
  for (const std::string& name : states) tensors.erase(name);
  for (const std::string& name : numbers) tensors.erase(name);
  return states;
}

}  // namespace partita
