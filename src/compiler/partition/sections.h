#pragma once
// When the nodes of a local graph run.

#include <array>

#include "compiler/partition/local_graph.h"

namespace partita {

/// once: before the first micro-batch. prologue: for each micro-batch, in a loop before the others; joined: once,
/// behind that loop (compiler/partition/prologue.h). micro: once for each micro-batch; of a stage of a pipeline only
/// its forward, to which `backward` and `weight` are the rest: weight is what leads to gradients of parameters alone,
/// where these are a part of their own. late: when all are done. update: once it is known that the loss is finite.
/// Without micro-batches and stages everything before the update is `once`.
enum class Section { once, prologue, joined, micro, backward, weight, late, update };
template <>
inline constexpr auto kNames<Section> = names("once", "prologue", "joined", "micro", "backward", "weight", "late",
                                              "update");
inline constexpr std::initializer_list<Section> kSections{Section::once,  Section::prologue, Section::joined,
                                                          Section::micro, Section::backward, Section::weight,
                                                          Section::late,  Section::update};

/// Whether it is a part of what runs for each micro-batch behind the prologue.
constexpr bool is_micro(Section section) { return section >= Section::micro && section <= Section::weight; }
/// Whether it runs for each micro-batch.
constexpr bool repeats(Section section) { return is_micro(section) || section == Section::prologue; }

/// Whether a node takes, or makes, a slice or a part of a sum of one micro-batch.
bool runs_in_micro_batches(const LocalGraph& local, NodeId node);

/// Whether something may run when all micro-batches are done.
inline bool has_late_section(const LocalGraph& local) { return local.is_stage() || local.mesh.micro_axis() >= 0; }

/// Of each section whether a schedule of the graph says where it begins: `once` is what comes before all others.
using SectionSet = std::array<bool, kSections.size()>;
SectionSet marked_sections(const LocalGraph& local);

/// Of each node. What is cut by micro-batches, partial over them, or joins them is `micro`; what uses what was joined,
/// here or on another stage, is late. Of both, what a node of a micro-batch needs of all of them is a part of the
/// prologue. Other nodes run once where a micro-batch uses their results, or stages that get them `once`, and late
/// where none does, so that these do not take memory all the time. States that are regathered are so in each
/// micro-batch, unless what runs once uses them. In a stage of a pipeline a node runs for each micro-batch even when
/// there is one alone; of the update that is late which leads to the verdict. Throws InternalError when a node of a
/// micro-batch needs what no prologue can make, and for a node of the prologue that others use, too.
std::vector<Section> sections_of(const LocalGraph& local);

/// Of each node its phase; of what moves or gathers an input or a state the first phase that uses the result.
std::vector<Phase> phases_of(const LocalGraph& local);

/// The nodes in the order in which they run: section by section, in each as the graph has them, but for what adds up
/// micro-batches, which follows at once what makes its operand. What is late on a stage runs phase by phase, since
/// other stages need the forward of it first.
struct SectionNodes {
  Section section;
  std::vector<NodeId> nodes;
};
std::vector<SectionNodes> in_sections(const LocalGraph& local);

}  // namespace partita
