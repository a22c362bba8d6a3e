#include "runtime/comm/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace partita {
namespace {

bool is_equal(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool contains(std::span<const int> members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

/// Whether two ranks of a split pass the same list, or lists without each other.
bool splits_fit(const Call& call_a, int a, const Call& call_b, int b) {
  if (contains(call_a.members, b) || contains(call_b.members, a)) {
    return std::equal(call_a.members.begin(), call_a.members.end(), call_b.members.begin(), call_b.members.end());
  }
  return true;
}

/// Position and data of a call: " at call 12 (f32[100]) of step 7". Unknown parts are left out. `number` stands in for
/// a call's missing number.
std::string place_of(const Call& call, uint64_t number) {
  const std::string data = describe_data(call);
  if (call.number > 0) number = call.number;
  return (number > 0 ? fmt::format(" at call {}", number) : "") + (data.empty() ? "" : " (" + data + ")") +
         (call.step > 0 ? fmt::format(" of step {}", call.step) : "");
}

}  // namespace

std::string describe_data(const Call& call) {
  if (call.kind == Collective::barrier || call.kind == Collective::split || call.kind == Collective::leave) return "";
  if (call.counts.empty()) return fmt::format("{}[{}]", name_of(call.dtype), call.count);
  return fmt::format("{}[({})]", name_of(call.dtype), listed(call.counts, ","));
}

std::string describe(const Call& call, std::span<const int> world_ranks) {
  std::string text(name_of(call.named()));
  if (call.kind == Collective::split) {
    std::vector<int> members;
    for (int member : call.members) members.push_back(world_ranks[member]);
    return text + " (" + listed(members, ",") + ")";
  }
  if (const std::string data = describe_data(call); !data.empty()) text += " " + data;
  if (call.reduce != Reduce::none) text += fmt::format(" {}", name_of(call.reduce));
  if (call.root >= 0) text += fmt::format(" from rank {}", world_ranks[call.root]);
  return text;
}

std::string timed_out(const Call& call, std::chrono::milliseconds timeout, const std::vector<int>& missing,
                      std::span<const int> world_ranks, uint64_t number) {
  const std::string ranks = missing.size() == 1 ? "rank " : "ranks ";
  return fmt::format("[{}] timed out after {:.1f} s{}: waiting for {} of group ({})", name_of(call.named()),
                     std::chrono::duration<double>(timeout).count(), place_of(call, number),
                     missing.empty() ? "others" : ranks + listed(missing, ", "), listed(world_ranks, ","));
}

std::string left_behind(const Call& call, int caller, const std::vector<int>& gone, std::span<const int> world_ranks) {
  const bool one = gone.size() == 1;
  return fmt::format("[{}] ranks disagree: rank {} calls {}, which {} {} of group ({}) {} not: {} done",
                     name_of(call.named()), world_ranks[caller], describe(call, world_ranks), one ? "rank" : "ranks",
                     listed(gone, ", "), listed(world_ranks, ","), one ? "does" : "do", one ? "it is" : "they are");
}

std::string lost(const Call& call, std::string_view what, std::span<const int> world_ranks, uint64_t number) {
  return fmt::format("[{}] a rank was lost{}: {}, got no answer, expected one in group ({})", name_of(call.named()),
                     place_of(call, number), what, listed(world_ranks, ","));
}

std::string ended(int rank, std::string_view host) {
  return fmt::format("the process of rank {}{}{} ended", rank, host.empty() ? "" : " on ", host);
}

std::optional<std::string> disagreement_of_two(const Call& call_a, int a, const Call& call_b, int b,
                                               std::span<const int> world_ranks) {
  const auto both = [&] {
    return fmt::format("rank {} calls {}, rank {} calls {}", world_ranks[a], describe(call_a, world_ranks),
                       world_ranks[b], describe(call_b, world_ranks));
  };
  const auto flow = [&](const Call& from, int sender, const Call& to, int receiver) {
    return fmt::format("rank {} sends {}[{}] to rank {}, which expects {}[{}]", world_ranks[sender],
                       name_of(from.dtype), from.counts[receiver], world_ranks[receiver], name_of(to.dtype),
                       to.recv_counts[sender]);
  };
  if (call_a.kind != call_b.kind || call_a.named() != call_b.named() || call_a.reduce != call_b.reduce) return both();
  if (call_a.kind == Collective::split) {
    if (splits_fit(call_a, a, call_b, b)) return std::nullopt;
    return both();
  }
  if (call_a.dtype != call_b.dtype) return both();
  if (call_a.kind == Collective::all_to_all) {
    if (call_a.counts[b] != call_b.recv_counts[a]) return flow(call_a, a, call_b, b);
    if (call_b.counts[a] != call_a.recv_counts[b]) return flow(call_b, b, call_a, a);
    return std::nullopt;
  }
  const bool fits =
      call_a.root == call_b.root && call_a.count == call_b.count && is_equal(call_a.counts, call_b.counts);
  if (fits) return std::nullopt;
  return both();
}

}  // namespace partita
