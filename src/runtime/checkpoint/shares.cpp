#include "runtime/checkpoint/shares.h"

#include <algorithm>
#include <map>

namespace partita {
namespace {

constexpr int64_t kMinDividedBytes = int64_t{1} << 20;
constexpr int64_t kBusiestPart = 10;  // accepts a tenth more than the busiest rank writes when everything is split

/// A box of a state, and all ranks that hold exactly it.
struct HeldBox {
  Box box;
  int64_t bytes = 0;
  std::vector<int> ranks;
};

std::vector<HeldBox> distinct_boxes(const HeldState& state) {
  std::map<std::vector<int64_t>, size_t> places;
  std::vector<HeldBox> boxes;
  for (const auto& [rank, box] : state.holders) {
    if (elements_of(box) == 0 && state.type.elements() > 0) continue;
    std::vector<int64_t> begins;
    for (const Range& range : box) begins.insert(begins.end(), {range.begin, range.end});
    const auto [place, is_new] = places.emplace(std::move(begins), boxes.size());
    if (is_new) boxes.push_back({box, Type{state.type.dtype, shape_of(box)}.bytes(), {}});
    boxes[place->second].ranks.push_back(rank);
  }
  return boxes;
}

/// Returns the first dimension with at least one index per part, or the longest one; 0 for a scalar.
size_t divided_dim(const Box& box, int64_t parts) {
  size_t longest = 0;
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d].count() >= parts) return d;
    if (box[d].count() > box[longest].count()) longest = d;
  }
  return longest;
}

/// An assignment of shares to ranks, and the bytes of the busiest rank.
struct Division {
  std::vector<std::vector<StateShare>> shares;  // per state
  int64_t max_bytes = 0;
};

/// Assigns boxes to ranks. A box that one rank holds is assigned to it as a whole. One that several ranks hold is split
/// along one dimension into a part for each, as equal as possible, if it has at least `min_cut` bytes; parts without
/// elements are left out. The other shared boxes, largest first, are each assigned as a whole to the one of their
/// holders with the fewest bytes so far.
Division divide(const std::vector<std::vector<HeldBox>>& boxes, int ranks, int64_t min_cut) {
  Division division{.shares = std::vector<std::vector<StateShare>>(boxes.size())};
  std::vector<int64_t> bytes(static_cast<size_t>(ranks), 0);
  const auto give = [&](size_t state, const HeldBox& held, size_t holder, const Box& box) {
    const int64_t all = elements_of(held.box), count = elements_of(box);
    if (count == 0 && all > 0) return;
    division.shares[state].push_back({held.ranks[holder], box});
    bytes[static_cast<size_t>(held.ranks[holder])] += all == 0 ? 0 : held.bytes / all * count;
  };
  std::vector<std::pair<size_t, const HeldBox*>> uncut;
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (const HeldBox& held : boxes[i]) {
      const auto parts = static_cast<int64_t>(held.ranks.size());
      if (parts > 1 && held.bytes < min_cut) {
        uncut.emplace_back(i, &held);
        continue;
      }
      const size_t dim = parts > 1 ? divided_dim(held.box, parts) : 0;
      for (int64_t part = 0; part < parts; ++part) {
        Box box = held.box;
        if (parts > 1) {
          const Range own = chunk(box[dim].count(), part, parts);
          box[dim].end = box[dim].begin + own.end;
          box[dim].begin += own.begin;
        }
        give(i, held, static_cast<size_t>(part), box);
      }
    }
  }
  std::ranges::stable_sort(uncut, [](const auto& a, const auto& b) { return a.second->bytes > b.second->bytes; });
  for (const auto& [state, held] : uncut) {
    const auto least = std::ranges::min_element(
        held->ranks, [&](int a, int b) { return bytes[static_cast<size_t>(a)] < bytes[static_cast<size_t>(b)]; });
    give(state, *held, static_cast<size_t>(least - held->ranks.begin()), held->box);
  }
  division.max_bytes = *std::ranges::max_element(bytes);
  return division;
}

}  // namespace

std::vector<std::vector<StateShare>> share_states(const std::vector<HeldState>& states, int ranks) {
  std::vector<std::vector<HeldBox>> boxes;
  int64_t largest = 0;
  for (const HeldState& state : states) {
    boxes.push_back(distinct_boxes(state));
    for (const HeldBox& held : boxes.back()) largest = std::max(largest, held.bytes);
  }
  const Division finest = divide(boxes, ranks, kMinDividedBytes);
  for (int64_t least = largest + 1; least > kMinDividedBytes; least /= 2) {
    Division division = divide(boxes, ranks, least);
    if (division.max_bytes <= finest.max_bytes + finest.max_bytes / kBusiestPart) return std::move(division.shares);
  }
  return finest.shares;
}

std::vector<std::vector<ShardPiece>> pieces_of_ranks(const std::vector<HeldState>& states,
                                                     const std::vector<std::vector<StateShare>>& shares, int ranks) {
  std::vector<std::vector<ShardPiece>> pieces(static_cast<size_t>(ranks));
  for (size_t i = 0; i < states.size(); ++i) {
    const std::vector<int64_t> parts = choose_parts(states[i].type);
    for (const StateShare& share : shares[i]) {
      pieces[static_cast<size_t>(share.rank)].push_back({states[i].name, states[i].type, parts, share.box});
    }
  }
  return pieces;
}

std::vector<std::vector<StateShare>> give_to_first(const std::vector<HeldState>& states) {
  std::vector<std::vector<StateShare>> shares;
  for (const HeldState& state : states) shares.push_back({{0, whole_box(state.type.shape)}});
  return shares;
}

}  // namespace partita
