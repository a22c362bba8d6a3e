#pragma once
// Part of `verify` that checks the layout of the arena, not what happens in it.

#include "compiler/schedule/schedule.h"

namespace partita {

/// A range of bytes in the arena.
struct Region {
  int64_t offset = 0, bytes = 0;

  bool meets(const Region& other) const { return offset < other.offset + other.bytes && other.offset < offset + bytes; }
  bool holds(const Region& other) const {
    return other.bytes >= 0 && other.offset >= offset && other.bytes <= bytes &&
           other.offset - offset <= bytes - other.bytes;
  }
};

inline Region region_of(const Buffer& buffer) { return {buffer.offset, buffer.bytes_of_all()}; }
inline Region region_of(const Bucket& bucket) { return {bucket.offset, bucket.bytes}; }

/// Checks that buffers and the scratch are aligned, that they and the buckets are in the arena (external states, which
/// nothing may write, after it), and that a buffer is large enough for its value. A view must be in its operand's
/// memory, and the scratch must serve every instruction. Operand and result of a copy, load, accumulation or all-reduce
/// must have one memory format and size; those of other collectives must be plain and must not overlap. Throws
/// InternalError otherwise.
void check_places(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
