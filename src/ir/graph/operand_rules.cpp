#include "ir/graph/operand_rules.h"

namespace partita {

void reject(std::string_view op, std::string_view what, const std::string& got, const std::string& expected,
            ErrorKind kind) {
  throw InvalidArgument(kind, "[{}] {}, got {}, expected {}", op, what, got, expected);
}

void require_operands(std::string_view op, const OpCall& call, size_t count) {
  if (call.inputs.size() == count) return;
  reject(op, "wrong number of operands", fmt::format("{}", call.inputs.size()), fmt::format("{}", count));
}

void require_float(std::string_view op, const OpCall& call, size_t operand) {
  if (is_float(call.inputs[operand].dtype)) return;
  reject(op, fmt::format("operand {} is not a float", operand), print(call.inputs[operand]), "f64, f32, bf16 or f16",
         ErrorKind::type);
}

void require_same_dtype(std::string_view op, const OpCall& call) {
  for (const Type& type : call.inputs) {
    if (type.dtype == call.inputs[0].dtype) continue;
    reject(op, "operands differ in element type", print(call.inputs), "one element type", ErrorKind::type);
  }
}

void require_rank(std::string_view op, const OpCall& call, size_t operand, int rank) {
  if (call.inputs[operand].rank() == rank) return;
  reject(op, fmt::format("operand {} has the wrong number of dimensions", operand), print(call.inputs[operand]),
         fmt::format("{} dimensions", rank));
}

void require_integers(std::string_view op, const OpCall& call, size_t operand, std::string_view name) {
  const Type& ids = call.inputs[operand];
  if (ids.dtype == DType::i32 || ids.dtype == DType::i64) return;
  reject(op, fmt::format("{} are not integers", name), print(ids), "i32 or i64", ErrorKind::type);
}

void require_rules(std::string_view op, const OpCall& call, const OperandRules& rules) {
  const size_t given = call.inputs.size();
  if (rules.count && (given < *rules.count || given > *rules.count + rules.optional)) {
    require_operands(op, call, *rules.count);
  }
  for (const size_t operand : rules.floats) require_float(op, call, operand);
  if (rules.same_dtype) require_same_dtype(op, call);
  for (const auto& [operand, rank] : rules.ranks) require_rank(op, call, operand, rank);
  if (!rules.integers.name.empty()) require_integers(op, call, rules.integers.operand, rules.integers.name);
}

}  // namespace partita
