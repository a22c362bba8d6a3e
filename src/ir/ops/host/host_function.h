#pragma once
// Functions of the program that builds a graph, as nodes of it.

#include <functional>
#include <memory>

#include "ir/graph/op_def.h"

namespace partita {

/// Fills the results from the operands, all dense; called by the threads of all ranks.
using HostFunction = std::function<void(Inputs, Outputs)>;

struct HostFunctionAttrs {
  std::string name;            // says which it is: nodes with equal attributes may become one
  std::vector<DType> dtypes;   // of the results
  std::vector<int64_t> sizes;  // of the results, one behind the other: the number of dimensions, then their sizes
  /// Which dimensions can be cut: a letter for each, "nk,k->nk"; the function gets parts of those that all results
  /// have. "": none, the function gets whole operands.
  std::string rule;
  std::shared_ptr<const HostFunction> function{};  // not printed: a graph that is read has none

  static constexpr auto fields() {
    return std::tuple{field("name", &HostFunctionAttrs::name), field("dtypes", &HostFunctionAttrs::dtypes),
                      field("sizes", &HostFunctionAttrs::sizes), field("rule", &HostFunctionAttrs::rule)};
  }
};

}  // namespace partita
