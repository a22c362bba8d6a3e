#include "checkpoint/shares.h"

#include <map>

namespace partita {
namespace {

constexpr int64_t kLeastDividedBytes = int64_t{1} << 20;

/// What some ranks hold alike.
struct HeldBox {
  Box box;
  std::vector<int> ranks;
};

std::vector<HeldBox> distinct_boxes(const HeldState& state) {
  std::map<std::vector<int64_t>, size_t> places;
  std::vector<HeldBox> boxes;
  for (const auto& [rank, box] : state.holders) {
    std::vector<int64_t> begins;
    for (const Range& range : box) begins.insert(begins.end(), {range.begin, range.end});
    const auto [place, is_new] = places.emplace(std::move(begins), boxes.size());
    if (is_new) boxes.push_back({box, {}});
    boxes[place->second].ranks.push_back(rank);
  }
  return boxes;
}

/// The first dimension with a row for each part, or the longest.
size_t divided_dim(const Box& box, int64_t parts) {
  size_t longest = 0;
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d].count() >= parts) return d;
    if (box[d].count() > box[longest].count()) longest = d;
  }
  return longest;
}

}  // namespace

std::vector<std::vector<StateShare>> share_states(const std::vector<HeldState>& states, int ranks) {
  std::vector<std::vector<StateShare>> shares(states.size());
  std::vector<int64_t> bytes(static_cast<size_t>(ranks), 0);
  const auto give = [&](size_t state, int rank, const Box& box) {
    const int64_t count = elements_of(box);
    if (count == 0 && states[state].type.elements() > 0) return;
    shares[state].push_back({rank, box});
    bytes[static_cast<size_t>(rank)] += count * static_cast<int64_t>(size_of(states[state].type.dtype));
  };
  std::vector<std::pair<size_t, HeldBox>> small;
  for (size_t i = 0; i < states.size(); ++i) {
    for (HeldBox& held : distinct_boxes(states[i])) {
      const auto count = static_cast<int64_t>(held.ranks.size());
      const int64_t size = elements_of(held.box) * static_cast<int64_t>(size_of(states[i].type.dtype));
      if (count > 1 && size < kLeastDividedBytes) {
        small.emplace_back(i, std::move(held));
        continue;
      }
      if (count == 1) {
        give(i, held.ranks[0], held.box);
        continue;
      }
      const size_t dim = divided_dim(held.box, count);
      for (int64_t part = 0; part < count; ++part) {
        Box box = held.box;
        const Range own = chunk(box[dim].count(), part, count);
        box[dim].end = box[dim].begin + own.end;
        box[dim].begin += own.begin;
        give(i, held.ranks[static_cast<size_t>(part)], box);
      }
    }
  }
  for (const auto& [state, held] : small) {
    const auto least = std::min_element(held.ranks.begin(), held.ranks.end(), [&](int a, int b) {
      return bytes[static_cast<size_t>(a)] < bytes[static_cast<size_t>(b)];
    });
    give(state, *least, held.box);
  }
  return shares;
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
