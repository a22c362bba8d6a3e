// Reads the wire format of protocol buffers (protobuf.dev/programming-guides/encoding). Field numbers are those of
// xla/service/hlo.proto.

#include "runtime/pjrt/optimized_program.h"

#include <set>

namespace partita::pjrt {
namespace {

struct WireField {
  uint64_t number = 0, value = 0;  // value: if it is an integer
  std::string_view bytes{};        // a message, a string or a packed list
};

/// Takes fields from the front of a message, one after the other.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Returns the next field, or nothing at the end of the message or where it is malformed.
  std::optional<WireField> next() {
    if (rest_.empty() || is_malformed_) return std::nullopt;
    const uint64_t key = varint();
    WireField field{.number = key >> 3};
    switch (key & 7) {
      case 0: field.value = varint(); break;
      case 1: take(8); break;
      case 2: field.bytes = take(varint()); break;
      case 5: take(4); break;
      default: is_malformed_ = true;
    }
    if (is_malformed_) return std::nullopt;
    return field;
  }
  bool is_malformed() const { return is_malformed_; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view one = take(1);
      if (one.empty()) return 0;
      value |= static_cast<uint64_t>(one[0] & 0x7f) << shift;
      if ((one[0] & 0x80) == 0) return value;
    }
    is_malformed_ = true;
    return 0;
  }
  bool is_at_end() const { return rest_.empty() || is_malformed_; }

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) {
      is_malformed_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool is_malformed_ = false;
};

/// The kernels of one computation and the computations that its fusions call.
struct ComputationFacts {
  uint64_t id = 0;
  KernelCounts kernels;
  std::vector<uint64_t> fused;
};

/// Adds an HloInstructionProto to the facts of its computation. Returns whether it is well formed.
bool add_instruction(std::string_view message, ComputationFacts& facts) {
  std::string_view opcode;
  std::vector<uint64_t> called;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 2) opcode = field->bytes;
    if (field->number != 38) continue;  // called_computation_ids, packed or not
    if (field->bytes.empty()) called.push_back(field->value);
    for (WireReader ids(field->bytes); !ids.is_at_end();) called.push_back(ids.varint());
  }
  if (opcode == "fusion") {
    ++facts.kernels.fused;
    facts.fused.insert(facts.fused.end(), called.begin(), called.end());
  }
  if (opcode == "custom-call") ++facts.kernels.library;
  return !reader.is_malformed();
}

/// Reads an HloComputationProto.
std::optional<ComputationFacts> read_computation(std::string_view message) {
  ComputationFacts facts;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 5) facts.id = field->value;
    if (field->number == 2 && !add_instruction(field->bytes, facts)) return std::nullopt;
  }
  if (reader.is_malformed()) return std::nullopt;
  return facts;
}

}  // namespace

std::optional<std::string_view> hlo_module(const Optimized& program) {
  if (program.format == "hlo") return program.bytes;
  if (program.format != "hlo_with_config") return std::nullopt;
  const auto first = WireReader(program.bytes).next();
  if (!first || first->number != 1) return std::nullopt;
  return first->bytes;
}

std::optional<KernelCounts> count_kernels(const Optimized& program) {
  const auto module = hlo_module(program);
  if (!module) return std::nullopt;
  std::vector<ComputationFacts> computations;
  WireReader reader(*module);
  while (const auto field = reader.next()) {
    if (field->number != 3) continue;
    const auto facts = read_computation(field->bytes);
    if (!facts) return std::nullopt;
    computations.push_back(*facts);
  }
  if (reader.is_malformed() || computations.empty()) return std::nullopt;
  std::set<uint64_t> fused;
  for (const ComputationFacts& one : computations) fused.insert(one.fused.begin(), one.fused.end());
  KernelCounts sum;
  for (const ComputationFacts& one : computations) {
    if (fused.contains(one.id)) continue;
    sum.fused += one.kernels.fused;
    sum.library += one.kernels.library;
  }
  return sum;
}

}  // namespace partita::pjrt
