#pragma once
// Reads the fields of protobuf messages one by one. Foreign formats are read this way, and not by generated classes,
// as docs/decisions/081 explains.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace partita {

/// Calls `read(tag)` for each field of a message of `bytes` bytes. It reads the field and returns true, or returns
/// false for one to skip. Returns false if the bytes are no such message.
template <class Read>
bool read_fields(google::protobuf::io::CodedInputStream& in, int bytes, const Read& read) {
  const auto limit = in.PushLimit(bytes);
  while (const uint32_t tag = in.ReadTag()) {
    if (!read(tag) && !google::protobuf::internal::WireFormatLite::SkipField(&in, tag)) return false;
  }
  if (!in.ConsumedEntireMessage() || in.BytesUntilLimit() != 0) return false;
  in.PopLimit(limit);
  return true;
}

}  // namespace partita
