#pragma once
// Arguments of a communicator's calls, checked alike by every backend before anything moves.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/reduce.h"

namespace partita {

// Each throws InvalidArgument "[where] ...".
void check_count(std::string_view where, int64_t count);
void check_buffer(std::string_view where, const void* buffer, int64_t count);
void check_reduce(std::string_view where, Reduce reduce);
void check_peer(std::string_view where, int peer, int size);
/// The sum of counts, one per rank of a group of `size`.
int64_t checked_sum(std::string_view where, std::span<const int64_t> counts, int size);
/// Different ranks of a group of `size`, `rank` among them.
void check_members(std::span<const int> members, int rank, int size);

}  // namespace partita
