#pragma once
// Where things lie: the part of `verify` that looks at the arena as it is, not at what happens in it.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Bytes of the arena.
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

/// Throws InternalError: a buffer, bucket or the scratch lies outside the arena or unaligned, a buffer is smaller
/// than its value, a view is not in its operand's memory, the ends of a copy or a collective do not fit.
void check_places(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
