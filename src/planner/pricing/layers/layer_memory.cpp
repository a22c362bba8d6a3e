#include "planner/pricing/layers/layer_memory.h"

#include <algorithm>
#include <limits>

#include "compiler/partition/collectives.h"

namespace partita {

class LayerMemoryBuilder {
 public:
  LayerMemoryBuilder(const LayerValues& values, LayerMemory& memory)
      : values_(values),
        memory_(memory),
        software_(values.software()),
        graph_(values.graph()),
        is_image_(graph_.values.size(), false) {
    const std::vector<FoldedUnit>& units = values.request().folded.units;
    for (auto* of_units : {&memory.kept_, &memory.boundaries_, &memory.handed_, &memory.results_})
      of_units->resize(units.size());
    if (!software_.keeps_gradients) memory.gradient_bytes_ = values.request().precision.gradient;
  }

  void run() {
    find_images();
    count_kept();
    count_boundaries();
    follow();
  }

 private:
  /// Returns the bytes that the software keeps for a value, by rows, including whole blocks of an image's channels, the
  /// scores of attention and masks. For the result of a gather that is gathered again, they are those of the gathered
  /// part; 0 if the backward pass reads that part, too, for which it counts.
  PerRow held_bytes(ValueId value) const {
    PerRow held;
    held.add(values_.bytes_of(value), is_image_[value] ? blocked_channels(graph_.type(value).shape[1]) : 1);
    const NodeId producer = graph_.values[value].producer;
    if (producer < 0) return held;
    const Node& node = graph_.nodes[producer];
    if (values_.is_regathered(value)) {
      const ValueId part = node.inputs[0];
      return values_.is_read(part) ? PerRow{} : values_.bytes_of(part);
    }
    const bool has_sums = node.outputs.size() == 2 && value == node.outputs[1] && !collective_of(node);
    if (has_sums && software_.scores.kept_bytes > 0) {
      const Work work = values_.work_at(static_cast<size_t>(producer));
      const double scores = work.batch * work.rows * work.columns;
      if (work.kind == WorkKind::attention) held.add(values_.per_row(value, scores * software_.scores.kept_bytes));
    }
    const bool is_kept = values_.phase(producer) == Phase::forward && node.recompute.empty() && !collective_of(node);
    if (is_kept && values_.rules().op(static_cast<size_t>(producer)).traits.is_sum &&
        values_.bytes_of(node.inputs[0]).growing() > 0 && values_.bytes_of(node.inputs[1]).growing() > 0)
      held.add(values_.per_row(value, values_.elements_of(value) * software_.mask_bytes));
    return held;
  }

  /// The factor by which padding to whole blocks of channels increases the memory of an image of `channels` channels.
  double blocked_channels(int64_t channels) const {
    const int64_t block = software_.channel_block;
    return static_cast<double>((channels + block - 1) / block * block) / static_cast<double>(channels);
  }

  /// Marks the 4-dimensional results of convolutions, and of ops on images, as images; none if the software does not
  /// block channels.
  void find_images() {
    for (size_t n = 0; n < graph_.nodes.size() && software_.channel_block > 0; ++n) {
      const Node& node = graph_.nodes[n];
      const auto has_image = [&](ValueId input) { return is_image_[input]; };
      bool is_of_images = std::ranges::any_of(node.inputs, has_image);
      if (values_.phase(n) != Phase::update && !collective_of(node))
        is_of_images |= values_.work_at(n).kind == WorkKind::convolution;
      for (ValueId output : node.outputs) is_image_[output] = is_of_images && graph_.type(output).shape.size() == 4;
    }
  }

  /// Sums, per unit, the bytes that are kept (`held_bytes`) for values that the forward pass of a micro-batch makes and
  /// the backward pass reads and, if the software recomputes whole layers, those of the results of selectively
  /// recomputed nodes. Sums the bytes of the inputs that have rows, too, and finds the largest value that is gathered
  /// again.
  void count_kept() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (values_.phase(n) != Phase::forward || !values_.is_each_micro_batch(n)) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        if (values_.is_regathered(output) && values_.bytes_of(output).growing() > memory_.gathered_.growing())
          memory_.gathered_ = values_.bytes_of(output);
        if (values_.is_read(output)) memory_.kept_[values_.unit(n)].add(held_bytes(output));
      }
      const bool is_selected =
          values_.request().recompute == Recompute::selective && !graph_.nodes[n].recompute.empty();
      if (is_selected && software_.recomputes_whole)
        memory_.results_[values_.unit(n)].add(values_.bytes_of(graph_.nodes[n].outputs[0]));
    }
    for (const Input& input : graph_.inputs) {
      if (input.batch_dim >= 0) memory_.inputs_.add(values_.bytes_of(input.value));
    }
  }

  /// Sums, per unit, the bytes of the values that earlier units make and that it or later ones use in the forward pass
  /// (`boundaries_`), and of those among them that the backward pass reads, but only in this unit or later ones
  /// (`handed_`).
  void count_boundaries() {
    constexpr int kNever = std::numeric_limits<int>::max();
    std::vector<int> furthest(graph_.values.size(), -1), first_reader(graph_.values.size(), kNever);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (ValueId input : graph_.nodes[n].inputs) {
        if (values_.phase(n) == Phase::forward)
          furthest[input] = std::max(furthest[input], static_cast<int>(values_.unit(n)));
        if (values_.phase(n) == Phase::backward)
          first_reader[input] = std::min(first_reader[input], static_cast<int>(values_.unit(n)));
      }
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (values_.phase(n) != Phase::forward || !values_.is_each_micro_batch(n)) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        for (int u = static_cast<int>(values_.unit(n)) + 1; u <= furthest[output]; ++u) {
          memory_.boundaries_[u].add(values_.bytes_of(output));
          if (values_.is_read(output) && first_reader[output] >= u) memory_.handed_[u].add(values_.bytes_of(output));
        }
      }
    }
  }

  /// Records, for each node of the forward pass, then of the backward pass of a micro-batch, the bytes that it makes
  /// and frees. Gradients of parameters are counted separately, as elements.
  void follow() {
    std::vector<NodeId> order;
    for (const SectionNodes& section : in_sections(values_.local())) {
      if (section.section == Section::late || section.section == Section::update) continue;
      for (NodeId node : section.nodes) {
        if (values_.phase(node) != Phase::update) order.push_back(node);
      }
    }
    std::ranges::stable_sort(order, [&](NodeId a, NodeId b) { return values_.phase(a) < values_.phase(b); });
    std::vector<size_t> last_use(graph_.values.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      for (ValueId input : graph_.nodes[order[i]].inputs) last_use[input] = i + 1;
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph_.nodes[order[i]];
      LayerMemory::Change& change = memory_.changes_.emplace_back();
      change.unit = values_.unit(order[i]);
      change.backward = values_.phase(order[i]) == Phase::backward;
      for (ValueId output : node.outputs) {
        if (values_.is_gradient_of_state(output)) change.gradients += values_.elements_of(output);
        if (last_use[output] > 0 && !values_.is_gradient_of_state(output)) change.made.add(held_bytes(output));
      }
      for (ValueId input : node.inputs) {
        if (graph_.values[input].producer < 0 || last_use[input] != i + 1 || values_.is_gradient_of_state(input))
          continue;
        change.freed.add(held_bytes(input));
        last_use[input] = 0;  // free an operand once if the node reads it twice
      }
    }
  }

  const LayerValues& values_;
  LayerMemory& memory_;
  const SoftwareCosts& software_;
  const Graph& graph_;
  std::vector<bool> is_image_;  // per value: whether its channels lie in blocks
};

LayerMemory::LayerMemory(const LayerValues& values) { LayerMemoryBuilder(values, *this).run(); }

double LayerMemory::workspace(const RelativeRows& rows) const {
  double kept = 0, live = 0, most = 0;
  for (const PerRow& unit : kept_) kept += unit.at(rows);
  for (const Change& change : changes_) {
    live += change.made.at(rows);
    most = std::max(most, live + change.gradients * gradient_bytes_);
    live -= change.freed.at(rows);
  }
  return std::max(0.0, most - kept) + gathered_.at(rows);
}

std::vector<UnitBackward> LayerMemory::backward(const RelativeRows& rows) const {
  std::vector<UnitBackward> units(kept_.size());
  for (const Change& change : changes_) {
    if (!change.backward) continue;
    BackwardMoment& now = units[change.unit].left;
    now.bytes += change.made.at(rows);
    now.gradients += change.gradients;
    std::vector<BackwardMoment>& within = units[change.unit].within;
    std::erase_if(within, [&](const BackwardMoment& before) { return before.bytes <= now.bytes; });
    within.push_back(now);
    now.bytes -= change.freed.at(rows);
  }
  return units;
}

}  // namespace partita
