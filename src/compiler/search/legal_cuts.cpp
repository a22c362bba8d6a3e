#include "compiler/search/legal_cuts.h"

namespace partita {
namespace {

class CutEnumeration {
 public:
  CutEnumeration(const ShardingRule& rule, const Mesh& mesh, const LegalCuts& options) : rule_(rule), mesh_(mesh) {
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const Factor& factor = rule.factors[f];
      const bool cuttable =
          factor.cutting == Cutting::free || (factor.cutting == Cutting::expand && options.expandable);
      if (cuttable && factor.size > 1 && !has_window(rule, static_cast<int>(f))) factors_.push_back(f);
    }
    uneven_ = options.uneven;
    cut_.resize(rule.factors.size());
    ways_.resize(rule.factors.size(), 1);
  }

  std::vector<Cut> run() {
    assign(0);
    return std::move(found_);
  }

 private:
  void assign(size_t axis) {
    if (axis == mesh_.rank_axes()) {
      if (illegal(rule_, cut_, mesh_).empty()) found_.push_back(cut_);
      return;
    }
    assign(axis + 1);
    const int64_t size = mesh_.axes()[axis].size;
    for (size_t f : factors_) {
      const int64_t ways = ways_[f] * size, whole = rule_.factors[f].size;
      if (uneven_ ? ways > whole : whole % ways != 0) continue;
      ways_[f] = ways;
      cut_[f].push_back(static_cast<int>(axis));
      assign(axis + 1);
      cut_[f].pop_back();
      ways_[f] /= size;
    }
  }

  const ShardingRule& rule_;
  const Mesh& mesh_;
  bool uneven_ = true;
  std::vector<size_t> factors_;
  std::vector<int64_t> ways_;
  Cut cut_;
  std::vector<Cut> found_;
};

}  // namespace

std::vector<Cut> legal_cuts(const ShardingRule& rule, const Mesh& mesh, const LegalCuts& options) {
  return CutEnumeration(rule, mesh, options).run();
}

}  // namespace partita
