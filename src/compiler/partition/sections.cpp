#include "compiler/partition/sections.h"

#include <algorithm>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/collectives.h"
#include "compiler/partition/prologue.h"
#include "ir/sharding/micro.h"

namespace partita {

bool runs_in_micro_batches(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  const auto has = [&](ValueId value) { return !micro_sharding(local.shardings[value], local.mesh).whole(); };
  return std::ranges::any_of(node.inputs, has) || std::ranges::any_of(node.outputs, has);
}

namespace {

/// Returns for each node whether it gathers a state anew, or depends on such gathers alone, as a cast of the whole
/// state does.
std::vector<bool> from_regathers(const LocalGraph& local) {
  const auto& nodes = local.graph.nodes;
  std::vector<bool> from(nodes.size(), false);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const auto is_from = [&](ValueId input) {
      const NodeId producer = local.graph.values[input].producer;
      return producer >= 0 && from[producer];
    };
    from[n] = is_regather(nodes[n]) || (!nodes[n].inputs.empty() && std::ranges::all_of(nodes[n].inputs, is_from));
  }
  return from;
}

/// Returns for each node whether it moves or gathers an input or a state, directly or after other such nodes, or is one
/// of `from_regathers`. Only nodes with `counts(node)` qualify.
template <class Counts>
std::vector<bool> moves_of_entries(const LocalGraph& local, const Counts& counts) {
  const auto& nodes = local.graph.nodes;
  const std::vector<bool> from = from_regathers(local);
  std::vector<bool> is_entry(local.graph.values.size(), false), moves(nodes.size(), false);
  for (size_t v = 0; v < is_entry.size(); ++v) is_entry[v] = local.graph.values[v].producer < 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    moves[n] = (from[n] || (is_collective(nodes[n]) && is_entry[nodes[n].inputs[0]])) && counts(n);
    for (const ValueId output : nodes[n].outputs) is_entry[output] = is_entry[output] || moves[n];
  }
  return moves;
}

/// Returns the first section or phase, of those by value, that uses a result of the node.
template <class When>
When first_of(const Node& node, const std::vector<When>& by_value) {
  When first = by_value[node.outputs[0]];
  for (const ValueId output : node.outputs) first = std::min(first, by_value[output]);
  return first;
}

/// Returns for each node 0 or, if it is a check of gradients, 1 more than the highest depth among its operands.
std::vector<int> depths_of_checks(const LocalGraph& local) {
  const std::vector<bool> checks = checks_of_gradients(local);
  std::vector<int> depths(checks.size(), 0);
  for (size_t n = 0; n < depths.size(); ++n) {
    if (!checks[n]) continue;
    depths[n] = 1;
    for (const ValueId input : local.graph.nodes[n].inputs) {
      const NodeId producer = local.graph.values[input].producer;
      if (producer >= 0) depths[n] = std::max(depths[n], depths[producer] + 1);
    }
  }
  return depths;
}

/// Moves nodes of a depth above 0 after the others, by their depth.
void put_last(std::vector<NodeId>& order, const std::vector<int>& depths) {
  std::ranges::stable_sort(order, [&](NodeId a, NodeId b) { return depths[a] < depths[b]; });
}

}  // namespace

std::vector<bool> checks_of_gradients(const LocalGraph& local) {
  const Graph& graph = local.graph;
  std::vector<bool> checks;
  for (const Node& node : graph.nodes) {
    const NodeId producer = is_collective(node) ? graph.values[node.inputs[0]].producer : -1;
    const bool is_check = node.phase == Phase::backward && node.origin.empty() && node.scope == kFinite;
    checks.push_back(is_check || (producer >= 0 && checks[producer]));
  }
  return checks;
}

std::vector<SectionNodes> in_sections(const LocalGraph& local) {
  const std::vector<Section> sections = sections_of(local);
  const auto& nodes = local.graph.nodes;
  std::vector<std::vector<NodeId>> joined(local.graph.values.size());  // per value
  const auto follows = [&](const Node& node) {
    return joins_micro_batches(node) && local.graph.values[node.inputs[0]].producer >= 0;
  };
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (follows(nodes[n])) joined[nodes[n].inputs[0]].push_back(static_cast<NodeId>(n));
  }
  const std::vector<int> checks = depths_of_checks(local);
  std::vector<SectionNodes> result;
  for (const Section section : kSections) {
    std::vector<NodeId> own;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (sections[n] == section && !follows(nodes[n])) own.push_back(static_cast<NodeId>(n));
    }
    if (section == Section::late && local.is_stage()) {
      const std::vector<Phase> phases = phases_of(local);
      std::ranges::stable_sort(own, [&](NodeId a, NodeId b) { return phases[a] < phases[b]; });
    }
    std::vector<NodeId>& order = result.emplace_back(SectionNodes{section, {}}).nodes;
    for (const NodeId node : own) {
      order.push_back(node);
      for (const ValueId output : nodes[node].outputs) {
        order.insert(order.end(), joined[output].begin(), joined[output].end());
      }
    }
    put_last(order, checks);
    // The part of the update that the verdict needs comes after all gradients, which can then be reduced together.
    if (section == Section::late) {
      std::stable_partition(order.begin(), order.end(), [&](NodeId n) { return nodes[n].phase != Phase::update; });
    }
  }
  return result;
}

namespace {

class SectionFinder {
 public:
  explicit SectionFinder(const LocalGraph& local) : local_(local), nodes_(local.graph.nodes) {
    for (const Node& node : nodes_) {
      sections_.push_back(node.phase == Phase::update ? Section::update : Section::once);
    }
  }

  std::vector<Section> run() {
    if (local_.mesh.micro_axis() >= 0) find_micro_batches();
    if (!local_.is_stage()) return std::move(sections_);
    if (local_.mesh.micro_axis() < 0) std::ranges::replace(sections_, Section::once, Section::micro);
    find_backward();
    move_entries_to_users();
    if (local_.sections == MicroSections::weights) find_weights();
    join_where_made();
    find_checks();
    find_verdict();
    return std::move(sections_);
  }

 private:
  void find_micro_batches() {
    const Prologue prologue = find_prologue(local_);
    const std::vector<bool> from = from_regathers(local_);
    const size_t values = local_.graph.values.size();
    std::vector<bool> is_late(values, false), used_in_micro(values, false), used_once(values, false);
    for (const Input& input : local_.graph.inputs) {  // of all micro-batches of another stage
      const bool is_whole = micro_sharding(local_.shardings[input.value], local_.mesh).whole();
      is_late[input.value] = input.from_stage >= 0 && is_whole && !input.once;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      const bool needs_all = any_marked(node.inputs, is_late);
      const bool micro = runs_in_micro_batches(local_, static_cast<NodeId>(n));
      PARTITA_CHECK(!micro || joins_micro_batches(node) || node.phase != Phase::update,
                    "update {} runs in a micro-batch", node.name);
      if (micro) sections_[n] = prologue.loop[n] ? Section::prologue : Section::micro;
      if (prologue.joined[n]) sections_[n] = Section::joined;
      const bool late = (needs_all && !micro) || joins_micro_batches(node) || sections_[n] == Section::update;
      for (ValueId output : node.outputs) is_late[output] = late;
      if (!micro && late && sections_[n] == Section::once) sections_[n] = Section::late;
    }
    for (const Output& output : local_.graph.outputs) {  // other stages may use it in a micro-batch
      if (output.once) used_in_micro[output.value] = used_once[output.value] = true;
    }
    for (size_t n = nodes_.size(); n-- > 0;) {
      const Node& node = nodes_[n];
      const auto is_any = [&](const std::vector<bool>& used) { return any_marked(node.outputs, used); };
      if (sections_[n] == Section::once && !is_any(used_in_micro)) sections_[n] = Section::late;
      if (sections_[n] == Section::once && from[n] && !is_any(used_once)) sections_[n] = Section::micro;
      if (sections_[n] > Section::micro) continue;
      for (ValueId input : node.inputs) {
        used_in_micro[input] = true;
        if (sections_[n] != Section::micro) used_once[input] = true;
      }
    }
    require_own_prologue();
  }

  void require_own_prologue() const {
    const auto in_prologue = [&](NodeId node) { return sections_[node] == Section::prologue; };
    const auto users = local_.graph.users();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (!in_prologue(static_cast<NodeId>(n)) || joins_micro_batches(nodes_[n])) continue;
      for (const ValueId output : nodes_[n].outputs) {
        PARTITA_CHECK(std::ranges::all_of(users[output], in_prologue),
                      "{} runs in the prologue, and a node after it uses its slices", nodes_[n].name);
      }
    }
  }

  /// Moves nodes of the backward pass, and those that depend on them, from `micro` to `backward`.
  void find_backward() {
    std::vector<bool> after(local_.graph.values.size(), false);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (sections_[n] != Section::micro) continue;
      const bool depends = any_marked(node.inputs, after);
      if (node.phase == Phase::backward || depends) sections_[n] = Section::backward;
      for (const ValueId output : node.outputs) after[output] = sections_[n] == Section::backward;
    }
  }

  /// Moves collectives on inputs and states from `micro` to the first section that uses their result, if that is
  /// `backward`. Those whose result is first used after the micro-batches stay.
  void move_entries_to_users() {
    const std::vector<bool> moves = moves_of_entries(local_, [&](size_t n) { return sections_[n] == Section::micro; });
    std::vector<Section> first(local_.graph.values.size(), Section::update);
    for (size_t n = nodes_.size(); n-- > 0;) {
      const Section user = first_of(nodes_[n], first);
      if (moves[n] && is_micro(user)) sections_[n] = user;
      for (const ValueId input : nodes_[n].inputs) first[input] = std::min(first[input], sections_[n]);
    }
  }

  /// Moves nodes from `backward` to `weight` unless another stage waits for their results, or for what they lead to
  /// without joining micro-batches.
  void find_weights() {
    std::vector<bool> is_awaited(local_.graph.values.size(), false);
    for (const Output& output : local_.graph.outputs) {
      if (!output.to_stages.empty()) is_awaited[output.value] = true;
    }
    for (size_t n = nodes_.size(); n-- > 0;) {
      if (sections_[n] != Section::backward) continue;
      const Node& node = nodes_[n];
      if (!joins_micro_batches(node) && any_marked(node.outputs, is_awaited)) {
        for (const ValueId input : node.inputs) is_awaited[input] = true;
      } else {
        sections_[n] = Section::weight;
      }
    }
  }

  void join_where_made() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (!joins_micro_batches(nodes_[n])) continue;
      const NodeId producer = local_.graph.values[nodes_[n].inputs[0]].producer;
      if (producer >= 0) sections_[n] = sections_[producer];
    }
  }

  /// Moves checks of gradients to `late`, also if there is one micro-batch only.
  void find_checks() {
    const std::vector<bool> checks = checks_of_gradients(local_);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (checks[n]) sections_[n] = Section::late;
    }
  }

  /// Moves the part of the update that the verdict needs to `late`: all stages know the verdict before any updates.
  /// Throws InternalError if that part needs the verdict itself.
  void find_verdict() {
    std::vector<bool> is_sent(local_.graph.values.size(), false), has_come(local_.graph.values.size(), false);
    for (const Output& output : local_.graph.outputs) is_sent[output.value] = !output.to_stages.empty();
    for (const Input& input : local_.graph.inputs) has_come[input.value] = input.verdict;
    for (size_t n = nodes_.size(); n-- > 0;) {
      const Node& node = nodes_[n];
      if (sections_[n] != Section::update) continue;
      if (!any_marked(node.outputs, is_sent)) continue;
      sections_[n] = Section::late;
      for (const ValueId input : node.inputs) is_sent[input] = true;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      const bool depends = any_marked(node.inputs, has_come);
      PARTITA_CHECK(!depends || sections_[n] == Section::update, "{} is a part of the verdict and needs it", node.name);
      for (const ValueId output : node.outputs) has_come[output] = depends;
    }
  }

  const LocalGraph& local_;
  const std::vector<Node>& nodes_;
  std::vector<Section> sections_;
};

}  // namespace

SectionSet marked_sections(const LocalGraph& local) {
  const Prologue prologue = find_prologue(local);
  const bool has_prologue = std::ranges::find(prologue.loop, true) != prologue.loop.end();
  SectionSet marked{};
  const auto mark = [&](Section section, bool is_there) { marked[static_cast<size_t>(section)] = is_there; };
  for (const Section section : {Section::prologue, Section::joined}) mark(section, has_prologue);
  for (const Section section : {Section::micro, Section::late}) mark(section, has_late_section(local));
  mark(Section::backward, local.is_stage());
  mark(Section::weight, local.sections == MicroSections::weights);
  mark(Section::update, true);
  return marked;
}

std::vector<Section> sections_of(const LocalGraph& local) { return SectionFinder(local).run(); }

std::vector<Phase> phases_of(const LocalGraph& local) {
  const auto& nodes = local.graph.nodes;
  const std::vector<bool> moves = moves_of_entries(local, [](size_t) { return true; });
  std::vector<Phase> phases(nodes.size()), first(local.graph.values.size(), Phase::update);
  for (size_t n = nodes.size(); n-- > 0;) {
    phases[n] = moves[n] ? first_of(nodes[n], first) : nodes[n].phase;
    for (const ValueId input : nodes[n].inputs) first[input] = std::min(first[input], phases[n]);
  }
  return phases;
}

}  // namespace partita
