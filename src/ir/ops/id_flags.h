#pragma once
// Checks of ids as operations of a program.

#include "ir/graph/hlo.h"

namespace partita {

/// Writes a search for ids that are negative or not below `limit`. Returns i64[2]: the number of elements from the
/// first such id on, 0 if there is none, and that id.
Hlo emit_id_flag(HloBody& body, const Hlo& ids, int64_t limit);
/// Returns i64[2 n], the flags of n searches.
Hlo emit_id_flags(HloBody& body, const std::vector<Hlo>& flags);

}  // namespace partita
