// Reads the wire format of protocol buffers (protobuf.dev/programming-guides/encoding). Field numbers are those of
// xla/service/hlo.proto.

#include "runtime/pjrt/optimized_program.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/bounded_json.h"
#include "base/plain_text.h"

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

constexpr int64_t kMaxExecuted = int64_t{1} << 53;  // counts stop there

/// An instruction that runs other computations: the first one `passes` times, or one of several.
struct Runs {
  std::vector<uint64_t> computations;
  int64_t passes = 1;
};

/// The kernels of one computation, the computations that its fusions call, and those that it runs.
struct ComputationFacts {
  KernelCounts kernels;
  std::vector<uint64_t> fused;
  std::vector<Runs> runs;
};

/// Returns the number of passes of a loop, by the configuration that the compiler wrote to it, or nothing.
std::optional<int64_t> passes_of(std::string_view config) {
  try {
    const nlohmann::json json = parse_bounded_json(config);
    const nlohmann::json& count = json.at("known_trip_count").at("n");
    return parse_number<uint32_t>(count.is_string() ? count.get<std::string>() : count.dump());
  } catch (const BadJson&) {  // another configuration
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

/// Adds an HloInstructionProto to the facts of its computation. Returns whether it is well formed.
bool add_instruction(std::string_view message, ComputationFacts& facts) {
  std::string_view opcode, config;
  std::vector<uint64_t> called;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 2) opcode = field->bytes;
    if (field->number == 43) config = field->bytes;  // backend_config
    if (field->number != 38) continue;               // called_computation_ids, packed or not
    if (field->bytes.empty()) called.push_back(field->value);
    WireReader ids(field->bytes);
    while (!ids.is_at_end()) called.push_back(ids.varint());
    if (ids.is_malformed()) return false;
  }
  if (opcode == "fusion") {
    ++facts.kernels.fused;
    facts.fused.insert(facts.fused.end(), called.begin(), called.end());
  }
  if (opcode == "custom-call") ++facts.kernels.library;
  if (opcode == "while" && !called.empty()) {  // its body, then its condition
    const std::optional<int64_t> passes = passes_of(config);
    if (!passes) ++facts.kernels.unknown_loops;
    facts.runs.push_back({{called[0]}, passes.value_or(1)});
  }
  if (opcode == "call" || opcode == "conditional" || opcode == "async-start") facts.runs.push_back({called});
  return !reader.is_malformed();
}

/// The computations of a module. One comes after those that it runs.
class Computations {
 public:
  /// Reads an HloComputationProto. Returns whether it is well formed.
  bool add(std::string_view message) {
    uint64_t id = 0;
    ComputationFacts facts;
    WireReader reader(message);
    while (const auto field = reader.next()) {
      if (field->number == 5) id = field->value;
      if (field->number == 2 && !add_instruction(field->bytes, facts)) return false;
    }
    facts.kernels.executed = executed(facts);
    facts_.insert_or_assign(id, std::move(facts));
    return !reader.is_malformed();
  }

  /// Returns the counts of a module that begins with the computation `entry`, or nothing without it.
  std::optional<KernelCounts> counts(uint64_t entry) const {
    if (!facts_.contains(entry)) return std::nullopt;
    std::set<uint64_t> fused;
    for (const auto& [id, one] : facts_) fused.insert(one.fused.begin(), one.fused.end());
    KernelCounts sum{.executed = executed(entry)};
    for (const auto& [id, one] : facts_) {
      if (fused.contains(id)) continue;
      sum.fused += one.kernels.fused;
      sum.library += one.kernels.library;
      sum.unknown_loops += one.kernels.unknown_loops;
    }
    return sum;
  }

 private:
  int64_t executed(uint64_t id) const {
    const auto found = facts_.find(id);
    return found == facts_.end() ? 0 : found->second.kernels.executed;
  }

  /// Returns the kernels of a computation and of those that it runs.
  int64_t executed(const ComputationFacts& facts) const {
    int64_t sum = facts.kernels.fused + facts.kernels.library;
    for (const Runs& runs : facts.runs) {
      int64_t longest = 0;
      for (const uint64_t one : runs.computations) longest = std::max(longest, executed(one));
      const bool fits = longest == 0 || runs.passes <= (kMaxExecuted - sum) / longest;
      sum = fits ? sum + longest * runs.passes : kMaxExecuted;
    }
    return sum;
  }

  std::map<uint64_t, ComputationFacts> facts_;  // by their numbers
};

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
  Computations computations;
  uint64_t entry = 0;
  WireReader reader(*module);
  while (const auto field = reader.next()) {
    if (field->number == 6) entry = field->value;
    if (field->number == 3 && !computations.add(field->bytes)) return std::nullopt;
  }
  return reader.is_malformed() ? std::nullopt : computations.counts(entry);
}

}  // namespace partita::pjrt
