#include "compiler/search/candidate_cuts.h"

#include <algorithm>

namespace partita {
namespace {

constexpr size_t kMaxCandidates = 256;  // extensions of one cut
constexpr size_t kMaxFree = 3;          // axes that are tried one by one; more are tried only together

class Candidates {
 public:
  Candidates(const ShardingRule& rule, const Mesh& mesh, bool expandable)
      : rule_(rule), mesh_(mesh), expandable_(expandable), found_{Cut(rule.factors.size())} {}

  bool is_legal(const Cut& cut) const {
    if (!illegal(rule_, cut, mesh_).empty() || cuts_window(rule_, cut)) return false;
    return expandable_ || !needs_expansion(rule_, cut);
  }

  void extend(const Cut& base) {
    const Axes free = free_axes(base);
    std::vector<Cut> extended{base};
    for (int axis : free) {  // each axis on any factor, or on none
      if (free.size() > kMaxFree) break;
      const size_t count = extended.size();
      if (count * (base.size() + 1) > kMaxCandidates) break;
      for (size_t i = 0; i < count; ++i) {
        for (size_t f = 0; f < base.size(); ++f) add_extended(extended, extended[i], f, {axis});
      }
    }
    for (size_t f = 0; f < base.size(); ++f) add_extended(extended, base, f, free);  // all of them on one factor
    found_.insert(extended.begin(), extended.end());
  }

  std::set<Cut> take() { return std::move(found_); }

 private:
  Axes free_axes(const Cut& cut) const {
    std::vector<bool> used(mesh_.axes().size(), false);
    for (const Axes& axes : cut) {
      for (int axis : axes) used[axis] = true;
    }
    Axes free;
    for (size_t axis = 0; axis < used.size(); ++axis) {
      if (!used[axis]) free.push_back(static_cast<int>(axis));
    }
    return free;
  }

  void add_extended(std::vector<Cut>& list, Cut cut, size_t factor, const Axes& more) const {
    cut[factor].insert(cut[factor].end(), more.begin(), more.end());
    if (is_legal(cut)) list.push_back(std::move(cut));
  }

  const ShardingRule& rule_;
  const Mesh& mesh_;
  const bool expandable_;
  std::set<Cut> found_;
};

}  // namespace

std::set<Cut> candidate_cuts(const ShardingRule& rule, const std::vector<Suggestion>& neighbours, const Mesh& mesh,
                             bool expandable) {
  std::set<Cut> bases{Cut(rule.factors.size()), suggest_cut(rule, neighbours, mesh, expandable)};
  for (const Suggestion& one : neighbours) bases.insert(suggest_cut(rule, {one}, mesh, expandable));
  Candidates candidates(rule, mesh, expandable);
  for (const Cut& base : bases) {
    if (candidates.is_legal(base)) candidates.extend(base);
  }
  return candidates.take();
}

}  // namespace partita
