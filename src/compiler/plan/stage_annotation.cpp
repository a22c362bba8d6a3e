#include "compiler/plan/stage_annotation.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "ir/graph/graph.h"

namespace partita {

std::string print(const StageAnnotation& annotation) {
  return fmt::format("{}={}", annotation.layers, annotation.stage);
}

StageAnnotation parse_stage_annotation(std::string_view text) {
  const size_t equals = text.rfind('=');
  const auto stage = equals == std::string_view::npos ? std::nullopt : parse_number<int64_t>(text.substr(equals + 1));
  if (!stage || *stage < 0 || *stage >= kMaxStages || equals == 0) {
    throw InvalidArgument(
        "[--stage] not a stage of a layer, got '{}', expected LAYERS=STAGE, such as net/h/0..5=0, with a stage from 0 "
        "to {}",
        text, kMaxStages - 1);
  }
  return {std::string(text.substr(0, equals)), static_cast<int>(*stage)};
}

}  // namespace partita
