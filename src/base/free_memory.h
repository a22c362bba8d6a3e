#pragma once
// How much memory there is.

#include <cstdint>
#include <optional>
#include <string>

namespace partita {

/// Bytes that this process can still take: the least of what the machine has, what its control group may use, and
/// the limit of its address space. Nothing when none of them is known.
std::optional<int64_t> available_memory();

/// "1.5 GiB".
std::string print_bytes(int64_t bytes);

}  // namespace partita
