#include "planner/pricing/searched_space.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita {
namespace {

constexpr int64_t kMaxInterleave = 8;
constexpr int64_t kFewRanks = 16;

/// The divisors of `number` up to `most`, ascending.
std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    if (d <= most) result.push_back(d);
    if (number / d != d && number / d <= most) result.push_back(number / d);
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// Returns the numbers of groups into which `ranks` may be divided, ascending and at most `most`: divisors of `ranks`,
/// divisors of `parts`, and numbers that leave ranks idle (all of them for up to 16 ranks, powers of two for more).
std::vector<int64_t> shares(int64_t ranks, int64_t most, int64_t parts) {
  std::vector<int64_t> result = divisors(ranks, most);
  for (const int64_t divisor : divisors(parts, std::min(ranks, most))) result.push_back(divisor);
  for (int64_t share = 2; share <= std::min(ranks, most); share = ranks <= kFewRanks ? share + 1 : share * 2) {
    result.push_back(share);
  }
  std::sort(result.begin(), result.end());
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
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::vector<int64_t> SearchedSpace::tensors() const {
  return allowed(request_.pins.tensor, shares(request_.ranks, request_.ranks, 1));
}

std::vector<int64_t> SearchedSpace::contexts() const { return allowed(request_.pins.context, {1}); }

std::vector<TensorCuts> SearchedSpace::cuts(const Configuration& configuration) const {
  std::vector<TensorCuts> result = allowed(request_.pins.cuts, {TensorCuts::blocks, TensorCuts::searched});
  std::erase_if(result, [&](TensorCuts cuts) {
    return cuts == TensorCuts::searched &&
           (configuration.tensor == 1 || configuration.context > 1 || !costs_.searches());
  });
  return result;
}

std::vector<int64_t> SearchedSpace::links(const Configuration& configuration) const {
  if (configuration.cuts == TensorCuts::searched) return allowed(request_.pins.links, costs_.links(configuration));
  if (request_.pins.links.value_or(0) > 0 || request_.pins.squeeze.value_or(0) > 0) return {};
  return {0};
}

std::vector<bool> SearchedSpace::sequence_parallel(const Configuration& configuration) const {
  std::vector<bool> result{false};
  if (configuration.tensor > 1 && configuration.cuts == TensorCuts::blocks) result.push_back(true);
  std::erase_if(result, [&](bool is_cut) { return is_cut != request_.pins.sequence_parallel.value_or(is_cut); });
  return result;
}

std::vector<int64_t> SearchedSpace::pipelines(const Configuration& configuration) const {
  const int64_t ranks = request_.ranks / configuration.tensor / configuration.context;
  return allowed(request_.pins.pipeline, shares(ranks, costs_.layers(), costs_.repeated_layers()));
}

std::vector<int64_t> SearchedSpace::data(const Configuration& configuration) const {
  const int64_t ranks = request_.ranks / configuration.tensor / configuration.context / configuration.pipeline;
  std::vector<int64_t> result = allowed(request_.pins.data, divisors(costs_.batch(), ranks));
  std::erase_if(result, [&](int64_t data) {
    const int64_t busy = data * configuration.tensor * configuration.context * configuration.pipeline;
    return data > ranks || costs_.batch() % data != 0 || (!request_.idle && busy != request_.ranks);
  });
  return result;
}

std::vector<int64_t> SearchedSpace::micro_batches(const Configuration& configuration) const {
  const int64_t rows = costs_.batch() / configuration.data, least = costs_.min_rows(configuration);
  std::vector<int64_t> sizes = allowed(request_.pins.micro_batch, divisors(rows, rows));
  std::erase_if(sizes,
                [&](int64_t size) { return rows % size != 0 || size % least != 0 || rows / size > kMaxMicroBatches; });
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

std::string SearchedSpace::text() const {
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
  add("tensor", number("tensor", pins.tensor));
  const bool has_blocks_alone = !costs_.searches() || pins.cuts == TensorCuts::blocks;
  const char* cuts = has_blocks_alone ? "cuts=blocks" : "cuts=searched";
  add("cuts", pins.cuts || has_blocks_alone ? std::optional<std::string>(cuts) : std::nullopt);
  if (!has_blocks_alone) {
    add("squeeze", number("squeeze", pins.squeeze));
    add("links", number("links", pins.links));
  }
  add("pipeline", number("pipeline", pins.pipeline));
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
  add(pins.delays_weights ? "order of 1f1b, interleaved and zero_bubble" : "order of 1f1b and interleaved",
      pins.order ? std::optional(fmt::format("order={}", name_of(*pins.order))) : std::nullopt);
  add("recompute", pins.recompute ? std::optional(fmt::format("recompute={}", print(*pins.recompute))) : std::nullopt);
  add("zero", number("zero", pins.zero));
  return fmt::format("{}{}({})", fmt::join(open, ", "), open.empty() ? "" : " ", fmt::join(closed, ", "));
}

double SearchedSpace::bound_of_sizes(Configuration configuration) const {
  double least = std::numeric_limits<double>::infinity();
  const std::vector<int64_t> stages = interleaves(configuration);
  if (stages.empty()) return least;
  configuration.interleave = stages.front();  // the bound is the same for all of them
  for (const int64_t rows : micro_batches(configuration)) {
    configuration.micro_batch = rows;
    for (const Order order : orders(configuration)) {
      configuration.order = order;
      least = std::min(least, bound_of_layers(configuration));
    }
  }
  return least;
}

/// Returns the larger of two lower bounds of the seconds of a step: a micro-batch passes all layers one after the
/// other, and the slowest group of stages takes at least the average of all groups. Gradients of weights may be delayed
/// until a micro-batch has passed all stages. Recomputation only adds time; it is included if its layers are already
/// lowered. Throws InvalidArgument if the network cannot be lowered so, or the cluster has too few ranks.
double SearchedSpace::bound_of_layers(Configuration configuration) const {
  if (!costs_.is_lowered(configuration)) configuration.recompute = Recompute::none;
  const RowSeconds seconds = costs_.row_seconds(configuration);
  const bool may_wait = configuration.order == Order::zero_bubble && configuration.pipeline > 1;
  const double rounds = static_cast<double>(partita::micro_batches(configuration, costs_.batch()));
  const double through = seconds.all - (may_wait ? seconds.weights : 0);
  const double share = seconds.all * rounds / static_cast<double>(configuration.pipeline);
  return std::max(through, share) * static_cast<double>(configuration.micro_batch);
}

double SearchedSpace::bound_of_excess(Configuration configuration) const {
  configuration.recompute = Recompute::none;
  return costs_.stages(configuration).lower_bound(configuration.zero);
}

}  // namespace partita
