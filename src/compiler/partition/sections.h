#pragma once
// Sections of a step: when each node of a local graph runs.

#include <array>

#include "compiler/partition/local_graph.h"

namespace partita {

/// Sections in the order in which they run.
/// once: before the first micro-batch.
/// prologue: for each micro-batch, in a loop before the main one. joined: once, after that loop
/// (compiler/partition/prologue.h).
/// micro: once for each micro-batch. On a pipeline stage it is only the forward pass; backward and weight are the rest.
/// weight is what leads only to gradients of parameters, if it runs separately.
/// late: once, after all micro-batches.
/// update: once it is known that the loss is finite.
/// Without micro-batches and stages, everything before the update is `once`.
enum class Section { once, prologue, joined, micro, backward, weight, late, update };
constexpr auto value_names(Section) {
  return names("once", "prologue", "joined", "micro", "backward", "weight", "late", "update");
}
inline constexpr std::initializer_list<Section> kSections{Section::once,  Section::prologue, Section::joined,
                                                          Section::micro, Section::backward, Section::weight,
                                                          Section::late,  Section::update};

/// Whether the section is part of the main loop over micro-batches, after the prologue.
constexpr bool is_micro(Section section) { return section >= Section::micro && section <= Section::weight; }
/// Whether the section runs for each micro-batch.
constexpr bool repeats(Section section) { return is_micro(section) || section == Section::prologue; }

/// Whether an operand or result of the node is a slice of one micro-batch, or its part of a sum.
bool runs_in_micro_batches(const LocalGraph& local, NodeId node);

/// Whether some nodes may run after all micro-batches: the graph has micro-batches or is a pipeline stage.
inline bool has_late_section(const LocalGraph& local) { return local.is_stage() || local.mesh.micro_axis() >= 0; }

/// For each section, whether a schedule of the graph marks its beginning. `once` has no mark, since it comes first.
using SectionSet = std::array<bool, kSections.size()>;
SectionSet marked_sections(const LocalGraph& local);

/// Returns the section of each node.
/// Nodes cut over micro-batches, partial over them or joining them are `micro`. Nodes that use joined values, of this
/// stage or another, are `late`. What a node of a micro-batch needs of all micro-batches is in the prologue instead.
/// Other nodes run `once` if their results are used in a micro-batch or sent `once` to another stage, else `late`, so
/// that the results do not need memory throughout. A regathered state is gathered in each micro-batch, unless a node
/// that runs once uses it.
/// On a pipeline stage, nodes run for each micro-batch even if there is only one. Checks of gradients and the part of
/// the update that leads to the verdict are late.
/// Throws InternalError if a node of a micro-batch needs what no prologue can compute, if other nodes use a node of the
/// prologue, if an update would run in a micro-batch, or if a part of the verdict needs the verdict.
std::vector<Section> sections_of(const LocalGraph& local);

/// Returns the phase of each node: its own or, for a collective that moves or gathers an input or a state, the first
/// phase that uses its result, update if none does.
std::vector<Phase> phases_of(const LocalGraph& local);

/// Returns for each node whether it checks that gradients are finite, for the output kFinite of a training graph
/// (compiler/autodiff/training_graph.h), or moves the result of such a check.
std::vector<bool> checks_of_gradients(const LocalGraph& local);

/// Nodes in the order in which they run, section by section. Within a section they keep the order of the graph, except
/// that a node that accumulates micro-batches directly follows the node that makes its operand. On a pipeline stage,
/// late nodes run phase by phase, since other stages need those of the forward pass first. Checks of gradients run
/// after all other nodes before the update, so that gradients can be reduced together; of the checks, those of single
/// gradients run first.
struct SectionNodes {
  Section section;
  std::vector<NodeId> nodes;
};
std::vector<SectionNodes> in_sections(const LocalGraph& local);

}  // namespace partita
