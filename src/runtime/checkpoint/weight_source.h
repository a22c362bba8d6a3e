#pragma once
// Weights that are read when a rank asks for its part of them.

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"

namespace partita {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Whether it has the weight `name`.
  virtual bool has(const std::string& name) const = 0;
  /// Reads the elements of the box of the weight `name`, which it has, to `to`, dense, in `dtype`. Threads may call it
  /// at once. Throws InvalidFile if the elements cannot be read.
  virtual void read(const std::string& name, const Box& box, DType dtype, void* to) const = 0;
};

/// A weight of a network: its name and type.
struct NamedType {
  std::string name;
  Type type;
};

/// Returns the parameters and statistics of a graph, in its order.
std::vector<NamedType> weights_of(const Graph& graph);

}  // namespace partita
