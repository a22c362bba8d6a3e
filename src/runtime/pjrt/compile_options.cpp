// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding): fields of a number and a kind, then a
// variable-length integer, or a length and bytes. Field numbers are those of xla/pjrt/proto/compile_options.proto.

#include "runtime/pjrt/compile_options.h"

#include "base/error.h"

namespace partita::pjrt {
namespace {

enum Kind : uint64_t { integer = 0, bytes = 2 };

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  text += static_cast<char>(value);
  return text;
}

std::string field(uint64_t number, int64_t value) {
  return varint(number << 3 | Kind::integer) + varint(static_cast<uint64_t>(value));
}

std::string field(uint64_t number, const std::string& value) {
  return varint(number << 3 | Kind::bytes) + varint(value.size()) + value;
}

/// DeviceAssignmentProto of one partition.
std::string assignment(const CompileOptions& options) {
  std::string ids;
  for (const int64_t id : options.devices) ids += varint(static_cast<uint64_t>(id));
  return field(1, options.replicas) + field(2, 1) + field(3, field(1, ids));
}

/// OptionOverrideProto.
std::string override_of(const Flag& flag) {
  if (const auto* text = std::get_if<std::string>(&flag)) return field(1, *text);
  if (const auto* on = std::get_if<bool>(&flag)) return field(2, static_cast<int64_t>(*on));
  return field(3, std::get<int64_t>(flag));
}

}  // namespace

std::string serialized(const CompileOptions& options) {
  PARTITA_CHECK(options.devices.empty() || static_cast<int64_t>(options.devices.size()) == options.replicas,
                "{} devices of {} replicas", options.devices.size(), options.replicas);
  // ExecutableBuildOptionsProto; -1: no device in particular.
  std::string build = field(1, int64_t{-1}) + field(4, options.replicas) + field(5, int64_t{1});
  if (!options.devices.empty()) build += field(9, assignment(options));
  std::string text = field(3, build);
  if (options.portable) text += field(4, int64_t{1});
  for (const auto& [name, flag] : options.flags) text += field(7, field(1, name) + field(2, override_of(flag)));
  return text;
}

}  // namespace partita::pjrt
