#pragma once
// Stages of layers by their paths, as users write them.

#include <string>
#include <string_view>

namespace partita {

/// Assigns layers, named by their paths (layer_names.h), to a stage.
struct StageMark {
  std::string layers;
  int stage = 0;
  bool operator==(const StageMark&) const = default;
};

/// Text of a mark: "net/h/0..5=0". `parse_stage_mark` reads it and throws InvalidArgument for any other text.
std::string print(const StageMark& mark);
StageMark parse_stage_mark(std::string_view text);

}  // namespace partita
