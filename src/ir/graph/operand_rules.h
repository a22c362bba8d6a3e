#pragma once
// Requirements on the operands of an op, as data, and the functions that check them. Their messages begin with "[op]".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/op_call.h"

namespace partita {

/// Rules for the operands of an op, checked before it infers its types, in the order of the members. By default there
/// are none.
struct OperandRules {
  struct Rank {
    size_t operand = 0;
    int rank = 0;
  };
  /// An operand of i32 or i64, and the plural of its elements for the message.
  struct Integers {
    size_t operand = 0;
    std::string_view name = {};  // empty: no operand is checked
  };

  std::optional<size_t> count = std::nullopt;  // number of operands
  size_t optional = 0;                         // number of further ones that may be missing
  std::vector<size_t> floats = {};             // operands with a float type
  bool same_dtype = false;                     // whether all operands have one element type
  std::vector<Rank> ranks = {};                // operands with a fixed number of dimensions
  Integers integers = {};
};

/// Checks the operands of a call. Throws InvalidArgument for the first rule that they break.
void require_rules(std::string_view op, const OpCall& call, const OperandRules& rules);

/// Throws InvalidArgument "[op] what, got GOT, expected EXPECTED".
[[noreturn]] void reject(std::string_view op, std::string_view what, const std::string& got,
                         const std::string& expected, ErrorKind kind = ErrorKind::value);

/// Checks that there are `count` operands. Throws InvalidArgument otherwise.
void require_operands(std::string_view op, const OpCall& call, size_t count);
/// Checks that the operand has a float type. Throws InvalidArgument otherwise.
void require_float(std::string_view op, const OpCall& call, size_t operand = 0);
/// Checks that all operands have one element type. Throws InvalidArgument otherwise.
void require_same_dtype(std::string_view op, const OpCall& call);
/// Checks that the operand has `rank` dimensions. Throws InvalidArgument otherwise.
void require_rank(std::string_view op, const OpCall& call, size_t operand, int rank);
/// Checks that the operand holds i32 or i64, called `name`. Throws InvalidArgument otherwise.
void require_integers(std::string_view op, const OpCall& call, size_t operand, std::string_view name);

}  // namespace partita
