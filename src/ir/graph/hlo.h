#pragma once
// StableHLO as text (openxla.org/stablehlo/spec): what ops write of themselves for compilers of accelerators.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace partita {

/// A value of a StableHLO function: its name with '%', and its type.
struct Hlo {
  std::string name;
  Type type;
  std::optional<DType> half = std::nullopt;  // the 16-bit type that holds its numbers as well, if it has a wider one
};

/// Returns the type in StableHLO: "tensor<2x3xf64>".
std::string hlo_type(const Type& type);
/// Returns the types in parentheses: "(tensor<2xf64>, tensor<i1>)".
std::string hlo_types(const std::vector<Hlo>& values);

/// The operations of a function, one line each. Names of operations have their dialect: "stablehlo.add", "chlo.erf".
class HloBody {
 public:
  /// Adds "%N = operation" and returns its result, whose type is `type`.
  Hlo add(const std::string& operation, Type type);
  /// Adds "%N = operation", or "%N:count = operation" if it has several results, and returns the results.
  std::vector<Hlo> add_several(const std::string& operation, const std::vector<Type>& types);
  /// Adds "%N = op operands : type". All operands and the result have one type.
  Hlo add_same(std::string_view op, const std::vector<Hlo>& operands);
  /// Adds "%N = op operandsdetails : (types) -> type".
  Hlo add_typed(std::string_view op, const std::vector<Hlo>& operands, std::string_view details, Type type);

  /// Writes the operations of one alternative, and returns its results.
  using Branch = std::function<std::vector<Hlo>(HloBody&)>;
  /// Adds a choice among branches by `index`, a scalar of type i32 from 0 on. Branches use values of this body, and all
  /// give results of the same types. Returns the results.
  std::vector<Hlo> add_case(const Hlo& index, const std::vector<Branch>& branches);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int64_t next_ = 0;
};

}  // namespace partita
