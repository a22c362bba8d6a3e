#include "planning/job_of.h"

#include <algorithm>

#include "planning/common_scope.h"

namespace partita {
namespace {

/// The number at the end of "net/h/12", and what stands in front of it.
std::optional<std::pair<std::string, int64_t>> numbered(const std::string& scope) {
  const size_t slash = scope.rfind('/');
  const std::string number = slash == scope.npos ? "" : scope.substr(slash + 1);
  if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != number.npos) return std::nullopt;
  return std::pair(scope.substr(0, slash + 1), std::stoll(number));
}

class StageMarks {
 public:
  StageMarks(const Price& price, const FoldedGraph& folded, const Graph& forward)
      : price_(price), folded_(folded), forward_(forward) {}

  /// Empty when a repeated layer has no numbered scope of its own.
  std::vector<StageMark> run() {
    std::vector<size_t> used(folded_.units.size(), 0);
    for (size_t stage = 0; stage < price_.layers.size(); ++stage) {
      for (size_t u = 0; u < used.size(); ++u) {
        for (size_t copy = 0; copy < price_.layers[stage][u]; ++copy) {
          if (folded_.units[u].is_copy && !add(u, used[u], static_cast<int>(stage))) return {};
          ++used[u];
        }
      }
    }
    std::vector<StageMark> marks;
    for (const Range& range : ranges_) {
      const std::string numbers =
          range.first == range.last ? fmt::format("{}", range.first) : fmt::format("{}..{}", range.first, range.last);
      marks.push_back({range.prefix + numbers, range.stage});
    }
    return marks;
  }

 private:
  struct Range {
    std::string prefix;
    int64_t first = 0, last = 0;
    int stage = 0;
  };

  bool add(size_t unit, size_t copy, int stage) {
    const FoldedUnit& range = folded_.units[unit];
    const size_t nodes = range.end - range.begin, begin = range.whole_begin + copy * nodes;
    const auto found = numbered(common_scope(forward_, begin, begin + nodes));
    if (!found) return false;
    const auto& [prefix, number] = *found;
    Range* last = ranges_.empty() ? nullptr : &ranges_.back();
    if (last != nullptr && last->prefix == prefix && last->stage == stage && last->last + 1 == number) {
      last->last = number;
    } else {
      ranges_.push_back({prefix, number, number, stage});
    }
    return true;
  }

  const Price& price_;
  const FoldedGraph& folded_;
  const Graph& forward_;
  std::vector<Range> ranges_;
};

}  // namespace

JobConfig job_of(JobConfig recipe, const Configuration& configuration, const Price& price, const FoldedGraph& folded,
                 const Graph& forward) {
  const int64_t batch = recipe.training.batch;
  recipe.ranks.count = static_cast<int>(configuration.ranks());
  recipe.plan.recompute = configuration.recompute;
  PlanOptions& options = recipe.plan.options;
  options.micro_batches = micro_batches(configuration, batch);
  options.zero.level = configuration.zero;
  if (configuration.tensor * configuration.context > 1) {
    options.parallel = Parallel::automatic;
    options.blocks = {.tensor = configuration.tensor,
                      .sequence = configuration.sequence_parallel,
                      .context = configuration.context,
                      .searched = configuration.cuts == TensorCuts::searched};
  }
  if (configuration.pipeline == 1) return recipe;
  options.pipeline = {.stages = configuration.pipeline * configuration.interleave,
                      .marks = StageMarks(price, folded, forward).run(),
                      .order = configuration.order,
                      .interleave = configuration.interleave};
  return recipe;
}

}  // namespace partita
