#pragma once
// Ranks that are processes were each started with flags, files and a program of their own.

#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace partita {

/// What a rank is about to do, by name: "seed", "plan". Long texts as a digest of theirs.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// 64 bits of a text, in hexadecimal (FNV-1a).
std::string digest(std::string_view text);

/// Throws RuntimeFailure(ranks_disagree) on every rank, with the first difference and both sides, unless all ranks have
/// the facts of rank 0. Collective.
void require_agreement(const Facts& facts, Communicator& comm);

}  // namespace partita
