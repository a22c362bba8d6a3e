#include "planner/explain/alternatives.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/partition.h"
#include "ir/work/flops.h"
#include "planner/pricing/layers/cluster_costs.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr size_t kShownMoves = 3;

/// The computation and communication of a plan, as far as an explanation mentions them.
struct Traffic {
  double flops = 0;                                              // FLOPs of a rank, for the node and its gradients
  std::map<std::pair<Collective, std::string>, double> bytes{};  // bytes of whole values, by collective and axes
};

class Alternatives {
 public:
  Alternatives(const AlternativesRequest& request, size_t node)
      : request_(request), rules_(request.training, request.ops), node_(node) {}

  std::vector<CutAlternative> run() {
    const CutSearch search{
        .kind = Search::exact,
        .costs = cluster_costs(request_.mesh, request_.cluster, request_.precision, request_.gradient_part)};
    PartialPlan pinned = request_.plan;
    if (request_.free) {
      for (auto& cut : pinned.cuts) cut.reset();
      for (auto& state : pinned.states) state.reset();
      pinned.results.clear();
    }
    const Cut chosen = *request_.plan.cuts.at(node_);
    const Traffic own = traffic(chosen);
    std::vector<CutAlternative> all;
    for (const PricedCut& priced :
         price_cuts(request_.training, rules_, request_.ops, request_.mesh, pinned, search, node_)) {
      CutAlternative one{.cut = print(priced.cut, rules_[node_], request_.mesh),
                         .seconds = priced.seconds,
                         .is_chosen = priced.cut == chosen};
      if (!one.is_chosen && all.size() < request_.most) one.why = difference(own, priced.cut);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  Traffic traffic(const Cut& cut) const {
    PartialPlan partial = request_.plan;
    partial.cuts[node_] = cut;
    const Node& node = request_.training.nodes[node_];
    for (ValueId output : node.outputs) partial.results.erase(output);
    for (size_t s = 0; s < request_.training.states.size(); ++s) {  // states follow the node
      const ValueId entry = request_.training.states[s].entry;
      const bool is_used = std::ranges::find(node.inputs, entry) != node.inputs.end();
      if (is_used && cut != *request_.plan.cuts[node_]) partial.states[s].reset();
    }
    const Plan plan = complete_plan(request_.training, rules_, request_.mesh, "explain", std::move(partial));
    Traffic result;
    for (size_t n = 0; n < request_.training.nodes.size(); ++n) {
      const Node& other = request_.training.nodes[n];
      const bool is_own = n == node_ || (other.phase == Phase::backward && other.origin == node.name);
      if (is_own) result.flops += flops_of(rules_, n, plan.cuts[n], plan.mesh);
    }
    const LocalGraph local = partition(request_.training, request_.ops, plan);
    for (const Node& one : local.graph.nodes) {
      const std::optional<Collective> kind = collective_of(one);
      if (!kind || is_local(*kind)) continue;
      const ValueId whole = *kind == Collective::all_gather ? one.outputs[0] : one.inputs[0];
      const double bytes = local_bytes(local.graph.type(whole), local.shardings[whole].dims, local.mesh);
      result.bytes[{*kind, named_axes(axes_of(one, local.mesh), local.mesh)}] += bytes;
    }
    return result;
  }

  /// The names of axes, "data,tensor"; sub-axes are merged if all of an axis are there.
  static std::string named_axes(const Axes& axes, const Mesh& mesh) {
    std::string text;
    std::string last;
    for (int axis : axes) {
      const std::string& full = mesh.axes()[static_cast<size_t>(axis)].name;
      const std::string name = full.substr(0, full.find('.'));
      const Axes all = mesh.find(name);
      const bool is_whole =
          std::ranges::all_of(all, [&](int one) { return std::ranges::find(axes, one) != axes.end(); });
      const std::string shown = is_whole ? name : full;
      if (shown == last) continue;
      text += (text.empty() ? "" : ",") + shown;
      last = shown;
    }
    return text;
  }

  /// Returns how a cut differs from the chosen one, whose computation and communication are `own`: "computes 2 times as
  /// much on a rank; 16.0 KiB more by all_gather over tensor". "moves as much" if it does not; "with other nodes cut
  /// differently" if the plan cannot have this cut with those of the other nodes.
  std::string difference(const Traffic& own, const Cut& cut) const {
    constexpr double kSame = 1e-3;
    Traffic other;
    try {
      other = traffic(cut);
    } catch (const Error&) {
      return "with other nodes cut differently";
    }
    std::string text;
    const auto say = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    const double ratio = own.flops > 0 ? other.flops / own.flops : 1;
    if (ratio > 1 + kSame) say(fmt::format("computes {:.3g} times as much on a rank", ratio));
    if (ratio < 1 - kSame) say(fmt::format("computes {:.3g} of it on a rank", ratio));
    std::vector<std::pair<double, std::string>> moves;
    auto kinds = own.bytes;
    kinds.insert(other.bytes.begin(), other.bytes.end());
    for (const auto& [key, unused] : kinds) {
      const auto before = own.bytes.find(key);
      const auto now = std::as_const(other.bytes).find(key);
      const double more =
          (now == other.bytes.end() ? 0 : now->second) - (before == own.bytes.end() ? 0 : before->second);
      if (std::abs(more) < 1) continue;
      moves.emplace_back(std::abs(more), fmt::format("{} {} by {} over {}", print_memory(std::abs(more)),
                                                     more > 0 ? "more" : "less", name_of(key.first), key.second));
    }
    std::sort(moves.rbegin(), moves.rend());
    for (size_t i = 0; i < std::min(kShownMoves, moves.size()); ++i) say(moves[i].second);
    if (moves.size() > kShownMoves) {
      const size_t rest = moves.size() - kShownMoves;
      say(fmt::format("{} smaller change{}", rest, rest == 1 ? "" : "s"));
    }
    return text.empty() ? "moves as much" : text;
  }

  const AlternativesRequest& request_;
  const Rules rules_;
  const size_t node_;
};

}  // namespace

std::vector<CutAlternative> alternatives_of(const AlternativesRequest& request, size_t node) {
  return Alternatives(request, node).run();
}

std::string print(const std::vector<CutAlternative>& all, const std::string& name, size_t most) {
  const auto chosen = std::ranges::find_if(all, [](const CutAlternative& one) { return one.is_chosen; });
  size_t widest = 16;
  for (size_t i = 0; i < std::min(most, all.size()); ++i) widest = std::max(widest, all[i].cut.size());
  std::string text =
      fmt::format("{}\n  {:<{}} {:>12} {:>12} {:>9}\n", name, "cut", widest, "micro-batch", "difference", "");
  const auto line = [&](const CutAlternative& one) {
    const double more = chosen == all.end() ? 0 : one.seconds - chosen->seconds;
    const double part = chosen == all.end() || chosen->seconds <= 0 ? 0 : 100 * more / chosen->seconds;
    text += fmt::format("{} {:<{}} {:>12} {:>12} {:>+7.2f} %  {}\n", one.is_chosen ? "*" : " ",
                        one.cut.empty() ? "(not cut)" : one.cut, widest, print_seconds(one.seconds),
                        one.is_chosen ? "" : (more < 0 ? "-" : "+") + print_seconds(std::abs(more)), part,
                        one.is_chosen ? "the plan's" : one.why);
  };
  for (size_t i = 0; i < std::min(most, all.size()); ++i) line(all[i]);
  if (all.size() > most) {
    if (chosen != all.end() && static_cast<size_t>(chosen - all.begin()) >= most) line(*chosen);
    text += fmt::format("  and {} more\n", all.size() - most);
  }
  return text;
}

}  // namespace partita
