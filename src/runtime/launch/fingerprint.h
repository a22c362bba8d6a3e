#pragma once
// Ranks that are processes were each started with flags, files and a program of their own.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "runtime/comm/communicator.h"

namespace partita {

/// What a rank is about to do, by name: "seed", "plan". Long texts as a digest of theirs.
using LaunchFingerprint = std::vector<std::pair<std::string, std::string>>;

/// 64 bits of a text (FNV-1a), of several from one to the next.
uint64_t digest_of(std::string_view text, uint64_t before = 0);
uint64_t digest_of(const Array& array, uint64_t before = 0);
/// Of names and values.
uint64_t digest_of(const std::map<std::string, Array>& arrays);
std::string print_digest(uint64_t digest);
/// Of the program that this process runs, its file as it is on the disk; 0 when that cannot be read. Made once.
uint64_t digest_of_executable();

/// Throws RuntimeFailure(ranks_disagree) on every rank, with the first difference and both sides, unless all ranks have
/// the fingerprint of rank 0. Collective.
void require_same_fingerprint(const LaunchFingerprint& fingerprint, Communicator& comm);

}  // namespace partita
