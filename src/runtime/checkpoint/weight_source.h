#pragma once
// Weights that are read when a rank asks for its part of them.

#include <map>
#include <memory>
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
  /// Returns a digest by which processes see whether they read the same: of all names and types, and of some elements.
  virtual uint64_t digest() const = 0;
};

/// A weight of a network: its name and type.
struct NamedType {
  std::string name;
  Type type;
};

/// Returns a whole weight in this type. Throws InvalidFile as `read` does.
Array read_whole(const WeightSource& source, const NamedType& weight);

/// Returns the parameters and statistics of a graph, in its order, without additions to products (LoRA), which no other
/// program has under these names.
std::vector<NamedType> weights_of(const Graph& graph);
/// Returns the additions to products, in the order of the graph.
std::vector<NamedType> adapters_of(const Graph& graph);

/// Returns the arrays by name as weights, and those that they lack from `rest`, unless it is null.
std::unique_ptr<WeightSource> overlaid(std::map<std::string, Array> arrays, std::unique_ptr<WeightSource> rest);

}  // namespace partita
