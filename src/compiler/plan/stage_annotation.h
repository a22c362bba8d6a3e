#pragma once
// Stages of layers by their paths, as users write them.

#include <string>
#include <string_view>

namespace partita {

/// Assigns layers, named by their paths (layer_names.h), to a stage.
struct StageAnnotation {
  std::string layers;
  int stage = 0;
  bool operator==(const StageAnnotation&) const = default;
};

/// Text of an annotation: "net/h/0..5=0". `parse_stage_annotation` reads it and throws InvalidArgument for any other
/// text.
std::string print(const StageAnnotation& annotation);
StageAnnotation parse_stage_annotation(std::string_view text);

}  // namespace partita
