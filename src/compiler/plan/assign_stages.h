#pragma once
// Chooses the pipeline stage of every node.

#include "compiler/plan/stages.h"
#include "ir/graph/rules.h"

namespace partita {

/// Layers by their paths (layer_names.h) that are on a stage.
struct StageMark {
  std::string layers;
  int stage = 0;
  bool operator==(const StageMark&) const = default;
};

/// "net/h/0..5=0"; `parse_stage_mark` throws InvalidArgument.
std::string print(const StageMark& mark);
StageMark parse_stage_mark(std::string_view text);

/// Marks the forward nodes that `marks` name, as a layer's `pipeline_stage` does. Throws InvalidArgument for a mark
/// that names no node, and for a node with two different marks or another stage in the code.
void mark_stages(Graph& graph, const std::vector<StageMark>& marks);

/// `stages` 0: as many as the marks say, 1 without marks; 1: no stages, whatever the marks say. A graph without marks
/// is divided into contiguous stages whose forward computes as much as possible alike, cut where the fewest bytes pass.
/// With marks, a node of the forward without one is on the highest stage of its operands, or else on the lowest of its
/// users. A node of the backward is on the stage of its origin; a sum of gradients on the lowest stage of its operands;
/// an update where its state is; a state on the lowest stage that uses it.
///
/// Throws InvalidArgument with the nearest legal choice: more stages than the graph can be divided into, a stage
/// without nodes, marks beyond the number of stages, a node that needs the result of a later stage.
StageAssignment assign_stages(const Graph& graph, const Rules& rules, int64_t stages);

/// Per node whether it is made of constants and counters alone, so that any stage can run it. Inputs without a batch
/// are fed to every stage, too.
std::vector<bool> free_nodes(const Graph& graph);

}  // namespace partita
