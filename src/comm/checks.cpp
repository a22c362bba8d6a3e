#include "comm/checks.h"

#include <limits>
#include <vector>

#include "base/error.h"

namespace partita {
namespace {

/// So large that no sum of bytes over a group overflows.
constexpr int64_t kMaxCount = std::numeric_limits<int64_t>::max() / 8 / (int64_t{1} << 20);

}  // namespace

void check_count(std::string_view where, int64_t count) {
  if (count < 0 || count > kMaxCount) {
    throw InvalidArgument(fmt::format("[{}] bad count, got {}, expected 0 to {}", where, count, kMaxCount));
  }
}

void check_buffer(std::string_view where, const void* buffer, int64_t count) {
  if (buffer == nullptr && count > 0) {
    throw InvalidArgument(fmt::format("[{}] no buffer, got null, expected {} elements", where, count));
  }
}

void check_reduce(std::string_view where, Reduce reduce) {
  if (reduce == Reduce::none) {
    throw InvalidArgument(fmt::format("[{}] bad reduction, got none, expected sum, max or min", where));
  }
}

void check_peer(std::string_view where, int peer, int size) {
  if (peer < 0 || peer >= size) {
    throw InvalidArgument(fmt::format("[{}] bad rank, got {}, expected 0 to {}", where, peer, size - 1));
  }
}

int64_t checked_sum(std::string_view where, std::span<const int64_t> counts, int size) {
  if (static_cast<int>(counts.size()) != size) {
    throw InvalidArgument(fmt::format("[{}] bad number of counts, got {}, expected {}", where, counts.size(), size));
  }
  int64_t sum = 0;
  for (int64_t count : counts) {
    check_count(where, count);
    sum += count;
    check_count(where, sum);
  }
  return sum;
}

void check_members(std::span<const int> members, int rank, int size) {
  std::vector<bool> seen(size);
  for (int member : members) {
    check_peer("split", member, size);
    if (seen[member]) {
      throw InvalidArgument(fmt::format("[split] a rank is given twice, got {}, expected different ones", member));
    }
    seen[member] = true;
  }
  if (!seen[rank]) {
    throw InvalidArgument(fmt::format("[split] bad group, got one without this rank, expected rank {} in it", rank));
  }
}

}  // namespace partita
