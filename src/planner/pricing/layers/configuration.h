#pragma once
// Configurations: how the ranks of a cluster share a training step, in the few numbers that users know.

#include <compare>

#include "base/names.h"
#include "compiler/autodiff/recompute.h"
#include "compiler/plan/block_sharding.h"
#include "ir/orders/sequence.h"
#include "ir/sharding/mesh.h"
#include "planner/pricing/layers/assign_layers.h"

namespace partita {

/// How the ranks of `tensor` share the nodes. blocks: transformer blocks are cut as in Megatron-LM. searched: a search
/// cuts every node, including its batch.
enum class TensorCuts { blocks, searched };
constexpr auto value_names(TensorCuts) { return names("blocks", "searched"); }

inline constexpr int64_t kMaxZero = 3;  // level of optimizer sharding

/// Largest class of links that cuts are searched for. Classes count from 1 and come in pairs: gradient sums are mostly
/// hidden in the first of a pair and exposed in the second. From one pair to the next a byte takes four times as long.
inline constexpr int64_t kMaxLinks = 12;

/// Which layers are recomputed: all of them by one policy, or counted per group of stages. In a group the first `full`
/// layers are recomputed in full, the next `selective` ones selectively (compiler/autodiff/recompute.h), and the others
/// not at all. Only recomputable units of the folded graph count as layers, in the order of the group's stages.
struct RecomputedLayers {
  struct Counts {
    int64_t full = 0, selective = 0;
    auto operator<=>(const Counts&) const = default;
  };
  Recompute all = Recompute::none;  // policy of all layers if `counts` is empty
  std::vector<Counts> counts{};     // per group of stages, or one entry for all groups

  RecomputedLayers(Recompute policy = Recompute::none) : all(policy) {}
  explicit RecomputedLayers(std::vector<Counts> of_groups) : counts(std::move(of_groups)) {}
  bool is_counted() const { return !counts.empty(); }
  auto operator<=>(const RecomputedLayers&) const = default;
};

/// The policy, such as "full", or the counts: "full:12" for 12 layers of each group, "full:4/2/0+selective:0/1/0" for
/// three groups; "none" if all counts are 0.
std::string print(const RecomputedLayers& recomputed);

/// How ranks share a step. There are `pipeline` groups of ranks, and each runs `interleave` stages. A group has data x
/// context x tensor ranks; `tensor` varies fastest.
struct Configuration {
  int64_t data = 1, context = 1, tensor = 1, pipeline = 1;
  TensorCuts cuts = TensorCuts::blocks;
  int64_t squeeze = 0;             // weight of memory in searched cuts, 0 to kMaxSqueeze
  int64_t links = 0;               // class of links that searched cuts are made for; 0: those of the cluster
  bool sequence_parallel = false;  // whether activations between the products of a block are cut over `tensor`
  int64_t interleave = 1;          // stages of each group
  LayerSplit layer_split = LayerSplit::even;  // how layers are assigned to stages
  int64_t micro_batch = 0;                    // rows of a rank's micro-batch; 0: chosen by `completed`
  Order order = Order::one_forward_one_backward;
  RecomputedLayers recompute{};
  int64_t zero = 0;  // level of optimizer sharding over `data` and `context`, 0 to kMaxZero

  int64_t ranks() const { return data * context * tensor * pipeline; }
  auto operator<=>(const Configuration&) const = default;
};

/// Returns how transformer blocks are cut under a configuration, or under another type with its fields for cuts.
template <class Cuts>
BlockSharding blocks_of(const Cuts& cuts) {
  return {.tensor = cuts.tensor,
          .sequence = cuts.sequence_parallel,
          .context = cuts.context,
          .searched = cuts.cuts == TensorCuts::searched,
          .squeeze = cuts.squeeze};
}

/// Whether counts of recomputed layers are given for `groups` groups of stages, or not at all. First replaces a single
/// entry, which stands for all groups, by one for each.
bool counts_each_group(RecomputedLayers& recompute, int64_t groups);

/// Number of micro-batches in a step of `batch` rows. `micro_batch` must not be 0.
int64_t micro_batches(const Configuration& configuration, int64_t batch);

/// Returns the configuration as KEY=VALUE pairs,
/// "data=8,tensor=8,pipeline=8,interleave=3,micro_batch=1,recompute=full,zero=1". Defaults are left out, except for
/// data.
std::string print(const Configuration& configuration);
/// Parses the text of `print`, with keys in any order. Throws InvalidArgument "[where] .." for items without '=',
/// unknown or repeated keys, bad values and too many ranks.
Configuration parse_configuration(std::string_view text, std::string_view where = "--fixed");
/// Returns the keys in a text of KEY=VALUE pairs, in its order, without parsing their values. Throws InvalidArgument
/// for items without '=', and for unknown or repeated keys.
std::vector<std::string> keys_of(std::string_view text);

/// Returns the configuration with its open choices made. A micro-batch of 0 becomes all rows of a rank if pipeline is
/// 1, else one row. Counts of recomputed layers are written out for each group, or dropped if all are 0, and the order
/// 1f1b of interleaved stages becomes `interleaved`. Throws InvalidArgument "[where] .." if the configuration does not
/// use exactly `ranks` ranks, if the batch does not divide (with the nearest legal numbers, those of at most
/// `max_ranks` ranks) or gives more than kMaxMicroBatches micro-batches, or if values contradict each other.
Configuration completed(Configuration configuration, int64_t ranks, int64_t batch, std::string_view where = "--fixed",
                        int64_t max_ranks = kMaxMeshRanks);

}  // namespace partita
