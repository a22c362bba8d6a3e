#pragma once
// How the ranks of a cluster share a training step, in the few numbers that users know.

#include <compare>

#include "base/names.h"
#include "compiler/autodiff/recompute.h"
#include "compiler/plan/block_sharding.h"
#include "ir/orders/sequence.h"
#include "planner/pricing/deal_layers.h"

namespace partita {

/// How the ranks of `tensor` share the nodes: blocks of transformers as Megatron-LM does, or every node as a search
/// finds it best, the batch included.
enum class TensorCuts { blocks, searched };
template <>
inline constexpr auto kNames<TensorCuts> = names("blocks", "searched");

inline constexpr int64_t kMaxZero = 3;  // level of optimizer sharding

/// Classes of links that cuts are searched for, from 1: of two that follow one another sums of gradients are hidden and
/// exposed, and from one pair to the next a byte takes four times as long.
inline constexpr int64_t kMaxLinks = 12;

/// Which layers are recomputed: all of them alike, or so many of each group of stages. Of a group the first `full` of
/// its layers are recomputed in full, the `selective` ones behind them selectively (compiler/autodiff/recompute.h), the
/// others not. Layers are units of the folded graph of which something can be recomputed, in the order of the group's
/// stages.
struct RecomputedLayers {
  struct Counts {
    int64_t full = 0, selective = 0;
    auto operator<=>(const Counts&) const = default;
  };
  Recompute all = Recompute::none;  // when nothing is counted
  std::vector<Counts> counts{};     // by group, or one number for all groups; empty: `all`

  RecomputedLayers(Recompute policy = Recompute::none) : all(policy) {}
  explicit RecomputedLayers(std::vector<Counts> of_groups) : counts(std::move(of_groups)) {}
  bool is_counted() const { return !counts.empty(); }
  auto operator<=>(const RecomputedLayers&) const = default;
};

/// "full", or of counts "full:12" in each group, "full:4/2/0+selective:0/1/0" in three of them.
std::string print(const RecomputedLayers& recomputed);

/// `pipeline` stages on groups of ranks (each group has `interleave` of them), a group being data x context x tensor
/// ranks, the fastest last.
struct Configuration {
  int64_t data = 1, context = 1, tensor = 1, pipeline = 1;
  TensorCuts cuts = TensorCuts::blocks;
  int64_t squeeze = 0;             // how much memory weighs in cuts that are searched, 0 to kMaxSqueeze
  int64_t links = 0;               // that searched cuts are made for: 0: the cluster's, else a class of links
  bool sequence_parallel = false;  // activations between the products of a block are cut over `tensor`
  int64_t interleave = 1;          // stages of each group
  Deal deal = Deal::even;          // of layers to stages
  int64_t micro_batch = 0;         // rows of a rank's micro-batch; 0: all of its rows at once
  Order order = Order::one_forward_one_backward;
  RecomputedLayers recompute{};
  int64_t zero = 0;  // level of optimizer sharding, over data (and context)

  int64_t ranks() const { return data * context * tensor * pipeline; }
  auto operator<=>(const Configuration&) const = default;
};

/// Micro-batches of a step of `batch` rows. `micro_batch` is not 0.
int64_t micro_batches(const Configuration& configuration, int64_t batch);

/// "data=8,tensor=8,pipeline=8,micro_batch=1,interleave=3,recompute=full,sequence_parallel=true,zero=1": what is 1, 0,
/// none or false by default is left out, but for data. `parse_configuration` reads it back, in any order, and throws
/// InvalidArgument "[where] ..".
std::string print(const Configuration& configuration);
Configuration parse_configuration(std::string_view text, std::string_view where = "--fixed");
/// The keys that a text gives, without reading their values.
std::vector<std::string> keys_of(std::string_view text);

/// With the micro-batch that was left open: of one stage all rows of a rank, of several one row. Throws InvalidArgument
/// with the nearest legal numbers unless the configuration takes all of `ranks` and the batch divides.
Configuration completed(Configuration configuration, int64_t ranks, int64_t batch, std::string_view where = "--fixed");

}  // namespace partita
