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

/// Throws InternalError if a buffer, a bucket or the scratch is outside the arena or unaligned. Throws it, too, if a
/// buffer is smaller than its value, a view is not in its operand's memory, or the buffers of a copy or a collective do
/// not match.
void check_places(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
