#pragma once
// Host functions: functions of the program that builds a graph, as nodes of it.

#include <functional>
#include <memory>

#include "ir/graph/op_def.h"

namespace partita {

/// Fills the results from the operands, all dense. Called by the threads of all ranks, possibly at once. What it throws
/// reaches the caller of the kernel.
using HostFunction = std::function<void(Inputs, Outputs)>;

struct HostFunctionAttrs {
  std::string name;            // identity: nodes with equal attributes may be merged
  std::vector<DType> dtypes;   // element types of the results
  std::vector<int64_t> sizes;  // sizes of the results, concatenated: number of dimensions, then the sizes
  /// Which dimensions can be cut, with a letter for each dimension: "nk,k->nk". The function gets parts along the
  /// letters that all results have. "": no cuts; the function gets whole operands.
  std::string rule;
  std::shared_ptr<const HostFunction> function{};  // not printed; null in a parsed graph

  static constexpr auto fields() {
    return std::tuple{field("name", &HostFunctionAttrs::name), field("dtypes", &HostFunctionAttrs::dtypes),
                      field("sizes", &HostFunctionAttrs::sizes), field("rule", &HostFunctionAttrs::rule)};
  }
};

}  // namespace partita
