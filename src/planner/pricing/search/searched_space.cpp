#include "planner/pricing/search/searched_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace partita {
namespace {

constexpr int64_t kMaxInterleave = 8;
constexpr int64_t kFewRanks = 16, kFewGroups = 64;

/// The divisors of `number` up to `most`, ascending.
std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    if (d <= most) result.push_back(d);
    if (number / d != d && number / d <= most) result.push_back(number / d);
  }
  std::ranges::sort(result);
  return result;
}

/// The numbers from 1 to `most`.
std::vector<int64_t> numbers(int64_t most) {
  std::vector<int64_t> result(static_cast<size_t>(most));
  std::iota(result.begin(), result.end(), 1);
  return result;
}

/// The divisors of each of `numbers`, and the powers of two, ascending and at most `most`.
std::vector<int64_t> divisors_and_powers(std::initializer_list<int64_t> numbers, int64_t most) {
  std::vector<int64_t> result;
  for (const int64_t number : numbers) {
    for (const int64_t divisor : divisors(number, most)) result.push_back(divisor);
  }
  for (int64_t power = 2; power <= most; power *= 2) result.push_back(power);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Only the pinned value, or `all` without a pin.
template <class T>
std::vector<T> allowed(const std::optional<T>& pin, std::vector<T> all) {
  if (pin) return {*pin};
  return all;
}

template <class T>
bool has(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

std::vector<int64_t> SearchedSpace::tensors() const {
  const int64_t ranks = request_.ranks;
  return allowed(request_.pins.tensor, ranks > kFewRanks ? divisors_and_powers({ranks}, ranks) : numbers(ranks));
}

std::vector<int64_t> SearchedSpace::contexts() const { return allowed(request_.pins.context, {1}); }

std::vector<TensorCuts> SearchedSpace::cuts(const Configuration& configuration) const {
  std::vector<TensorCuts> result = allowed(request_.pins.cuts, {TensorCuts::blocks, TensorCuts::searched});
  std::erase_if(result, [&](TensorCuts cuts) {
    return cuts == TensorCuts::searched &&
           (configuration.tensor == 1 || configuration.context > 1 || !costs_.lowering().searches());
  });
  return result;
}

std::vector<int64_t> SearchedSpace::links(const Configuration& configuration) const {
  if (configuration.cuts == TensorCuts::searched)
    return allowed(request_.pins.links, costs_.lowering().links(configuration));
  if (request_.pins.links.value_or(0) > 0 || request_.pins.squeeze.value_or(0) > 0) return {};
  return {0};
}

int64_t SearchedSpace::standing_links(const Configuration& configuration) const {
  const bool is_open = !request_.pins.links && request_.pins.recompute.value_or(Recompute::none) == Recompute::none;
  if (!is_open || configuration.links == 0) return configuration.links;
  const int64_t own = costs_.alike_links(configuration);
  Configuration other = configuration;
  for (const int64_t links : this->links(configuration)) {
    other.links = links;
    if (costs_.alike_links(other) == own) return links;
  }
  return configuration.links;
}

std::vector<bool> SearchedSpace::sequence_parallel(const Configuration& configuration) const {
  std::vector<bool> result{false};
  if (configuration.tensor > 1 && configuration.cuts == TensorCuts::blocks) result.push_back(true);
  std::erase_if(result, [&](bool is_cut) { return is_cut != request_.pins.sequence_parallel.value_or(is_cut); });
  return result;
}

std::vector<int64_t> SearchedSpace::pipelines(const Configuration& configuration) const {
  const int64_t ranks = request_.ranks / configuration.tensor / configuration.context;
  if (request_.pins.pipeline) return {*request_.pins.pipeline};
  const int64_t most = std::min(ranks, costs_.layers());
  return has_many_groups() ? divisors_and_powers({ranks, costs_.repeated_layers()}, most) : numbers(most);
}

bool SearchedSpace::has_many_groups() const { return std::min(request_.ranks, costs_.layers()) > kFewGroups; }

std::vector<int64_t> SearchedSpace::data(const Configuration& configuration) const {
  const int64_t ranks = request_.ranks / configuration.tensor / configuration.context / configuration.pipeline;
  std::vector<int64_t> result = allowed(request_.pins.data, divisors(costs_.batch(), ranks));
  std::erase_if(result, [&](int64_t data) {
    const int64_t busy = data * configuration.tensor * configuration.context * configuration.pipeline;
    return data > ranks || costs_.batch() % data != 0 || (!request_.idle && busy != request_.ranks);
  });
  return result;
}

const std::vector<int64_t>& SearchedSpace::micro_batches(const Configuration& configuration) const {
  const int64_t rows = costs_.batch() / configuration.data;
  const auto [cached, fresh] = micro_batches_.try_emplace(rows);
  if (!fresh) return cached->second;
  std::vector<int64_t>& sizes = cached->second = allowed(request_.pins.micro_batch, divisors(rows, rows));
  std::erase_if(sizes, [&](int64_t size) { return rows % size != 0 || rows / size > kMaxMicroBatches; });
  if (request_.any && sizes.size() > 1) sizes.resize(1);
  return sizes;
}

std::vector<int64_t> SearchedSpace::interleaves(const Configuration& configuration) const {
  const int64_t pipeline = configuration.pipeline;
  std::vector<int64_t> result{1};
  // Only the interleaved order runs several stages of a group.
  const bool may_be = !request_.any && request_.pins.order.value_or(Order::interleaved) == Order::interleaved;
  for (int64_t interleave = 2; pipeline > 1 && may_be && interleave <= kMaxInterleave; ++interleave) {
    if (pipeline * interleave <= costs_.layers()) result.push_back(interleave);
  }
  result = allowed(request_.pins.interleave, result);
  std::erase_if(result, [&](int64_t interleave) { return interleave > 1 && pipeline == 1; });
  return result;
}

std::vector<Order> SearchedSpace::orders(const Configuration& configuration) const {
  const std::optional<Order>& pin = request_.pins.order;
  if (configuration.interleave > 1) {
    const bool is_other = pin && *pin != Order::one_forward_one_backward;  // 1f1b becomes interleaved
    return {is_other ? *pin : Order::interleaved};
  }
  std::vector<Order> all{Order::one_forward_one_backward};
  if (configuration.pipeline > 1 && !request_.any && request_.pins.delays_weights) all.push_back(Order::zero_bubble);
  return allowed(pin, all);
}

std::vector<LayerSplit> SearchedSpace::layer_splits(const Configuration& configuration) const {
  if (configuration.pipeline == 1) return {LayerSplit::even};
  return allowed(request_.pins.layer_split, {LayerSplit::even, LayerSplit::balanced});
}

std::vector<int64_t> SearchedSpace::levels(const Configuration& configuration) const {
  std::vector<int64_t> all{0};
  if (configuration.data * configuration.context > 1) all = {0, 1, 2, 3};
  if (request_.any) all = {all.back()};
  return allowed(request_.pins.zero, all);
}

bool SearchedSpace::contains(const Configuration& configuration) const {
  return has(tensors(), configuration.tensor) && has(contexts(), configuration.context) &&
         has(cuts(configuration), configuration.cuts) && has(links(configuration), configuration.links) &&
         has(sequence_parallel(configuration), configuration.sequence_parallel) &&
         has(pipelines(configuration), configuration.pipeline) && has(data(configuration), configuration.data) &&
         has(micro_batches(configuration), configuration.micro_batch) &&
         has(interleaves(configuration), configuration.interleave) && has(orders(configuration), configuration.order) &&
         has(layer_splits(configuration), configuration.layer_split) && has(levels(configuration), configuration.zero);
}

std::string SearchedSpace::text(bool squeezed) const {
  const Pins& pins = request_.pins;
  std::vector<std::string> open, closed;
  const auto add = [&](const std::string& text, const std::optional<std::string>& pinned) {
    (pinned ? closed : open).push_back(pinned.value_or(text));
  };
  const auto number = [](const char* key, const std::optional<int64_t>& pin) {
    return pin ? std::optional(fmt::format("{}={}", key, *pin)) : std::nullopt;
  };
  add("data", number("data", pins.data));
  add("", number("context", pins.context.value_or(1)));
  add(request_.ranks > kFewRanks ? "tensor of divisors and powers of 2" : "tensor", number("tensor", pins.tensor));
  const bool has_blocks_alone = !costs_.lowering().searches() || pins.cuts == TensorCuts::blocks;
  const char* cuts = has_blocks_alone ? "cuts=blocks" : "cuts=searched";
  add("cuts", pins.cuts || has_blocks_alone ? std::optional<std::string>(cuts) : std::nullopt);
  if (!has_blocks_alone) {
    add(fmt::format("squeeze to {}", kMaxSqueeze),
        number("squeeze", squeezed ? pins.squeeze : std::optional(pins.squeeze.value_or(0))));
    add(pins.squeeze.value_or(0) > 0 ? "links of 2 near classes"
        : squeezed                   ? "links of 6 near classes and of 2 for squeezed cuts"
                                     : "links of 6 near classes",
        number("links", pins.links));
  }
  add(has_many_groups() ? "pipeline of divisors and powers of 2" : "pipeline", number("pipeline", pins.pipeline));
  if (pins.cuts != TensorCuts::searched) {
    const bool is_cut = pins.sequence_parallel.value_or(false);
    const std::string text = fmt::format("sequence_parallel={}", is_cut);
    add("sequence_parallel", pins.sequence_parallel ? std::optional(text) : std::nullopt);
  }
  const bool has_one = pins.order.value_or(Order::interleaved) != Order::interleaved;
  add(fmt::format("interleave to {}", kMaxInterleave),
      number("interleave", has_one ? pins.interleave.value_or(1) : pins.interleave));
  add("deal", pins.layer_split ? std::optional(fmt::format("deal={}", name_of(*pins.layer_split))) : std::nullopt);
  add("micro_batch", number("micro_batch", pins.micro_batch));
  add(pins.delays_weights ? "order of 1f1b/interleaved/zero_bubble without interleave" : "order of 1f1b/interleaved",
      pins.order ? std::optional(fmt::format("order={}", name_of(*pins.order))) : std::nullopt);
  add("recompute of none/what fits/selective/full",
      pins.recompute ? std::optional(fmt::format("recompute={}", print(*pins.recompute))) : std::nullopt);
  add("zero", number("zero", pins.zero));
  return fmt::format("{}{}({})", fmt::join(open, ", "), open.empty() ? "" : " ", fmt::join(closed, ", "));
}

double SearchedSpace::bound_of_sizes(Configuration configuration) const {
  double least = std::numeric_limits<double>::infinity();
  const std::vector<int64_t> stages = interleaves(configuration);
  if (stages.empty()) return least;
  RowCosts& rows = row_costs(configuration);
  for (const int64_t interleave : {stages.front(), stages.back()}) {  // the bound is the same for all above 1
    configuration.interleave = interleave;
    for (const Order order : orders(configuration)) {
      configuration.order = order;
      for (const int64_t size : micro_batches(configuration)) {
        configuration.micro_batch = size;
        const int64_t rounds = partita::micro_batches(configuration, costs_.batch());
        least = std::min(least, filling_bound(configuration, rounds, rows.of(size)));
      }
    }
    if (stages.size() == 1) break;
  }
  return least;
}

/// Returns the seconds of layers by rows, recomputed as the configuration says if they are already lowered so, else
/// without recomputation, which only adds time.
RowCosts& SearchedSpace::row_costs(Configuration configuration) const {
  if (!costs_.is_lowered(configuration)) configuration.recompute = Recompute::none;
  return costs_.row_costs(configuration);
}

double SearchedSpace::bound_of_layers(const Configuration& configuration) const {
  const RowSeconds& rows = row_costs(configuration).of(configuration.micro_batch);
  const int64_t rounds = partita::micro_batches(configuration, costs_.batch());
  return std::max(filling_bound(configuration, rounds, rows),
                  mean_group_bound(configuration, rounds, rows, costs_.layer_messages(configuration),
                                   costs_.busy_cluster(configuration)));
}

double SearchedSpace::bound_of_layout(const Configuration& configuration) const {
  if (configuration.recompute.is_counted()) return 0;
  return layout_bound(configuration, partita::micro_batches(configuration, costs_.batch()),
                      costs_.row_costs(configuration).layers(configuration.micro_batch),
                      costs_.busy_cluster(configuration));
}

bool SearchedSpace::differs_if_balanced(const Configuration& configuration) const {
  const int64_t repeated = costs_.repeated_layers(), stages = configuration.pipeline * configuration.interleave;
  if (repeated == 0 || repeated % stages != 0) return false;  // even is balanced then
  LayerSeconds& layers = costs_.row_costs(configuration).layers(configuration.micro_batch);
  return layers.begins(stages, LayerSplit::even) != layers.begins(stages, LayerSplit::balanced);
}

double SearchedSpace::bound_of_excess(Configuration configuration) const {
  configuration.recompute = Recompute::none;
  return costs_.stages(configuration).lower_bound(configuration.zero);
}

}  // namespace partita
