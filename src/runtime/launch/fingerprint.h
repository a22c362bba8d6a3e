#pragma once
// Checks that ranks that are processes were started alike: each has its own flags, files and program.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "runtime/comm/communicator.h"

namespace partita {

/// Description of what a rank is about to do, as names and values: "seed", "plan". Long texts are given as their
/// digest.
using LaunchFingerprint = std::vector<std::pair<std::string, std::string>>;

/// 64-bit digest of a text (FNV-1a). `before` is the digest of what precedes it.
uint64_t digest_of(std::string_view text, uint64_t before = 0);
uint64_t digest_of(const Array& array, uint64_t before = 0);
/// Digest of names and elements, without types.
uint64_t digest_of(const std::map<std::string, Array>& arrays);
std::string print_digest(uint64_t digest);
/// Digest of the program file that this process runs; 0 if it cannot be read. Computed once.
uint64_t digest_of_executable();

/// Requires that all ranks have the fingerprint of rank 0. A collective call. Throws RuntimeFailure(ranks_disagree) on
/// every rank otherwise, with the first difference of the lowest rank that differs and both values. Throws
/// RankFailures.
void require_same_fingerprint(const LaunchFingerprint& fingerprint, Communicator& comm);

}  // namespace partita
