#pragma once
// The ranks of one pipeline stage as named axes, slowest link first. Axes are split into prime
// sub-axes, largest prime first; decisions speak of sub-axes only.

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace partita {

struct MeshAxis {
  std::string name;  // "data", or "mp.0" when a named axis has several primes
  int64_t size = 1;
};

/// Indices of sub-axes, slowest (outermost) first.
using Axes = std::vector<int>;

class Mesh {
 public:
  /// One rank.
  Mesh() = default;
  /// {{"data", 4}, {"model", 6}} has sub-axes data.0 data.1 model.0 (3) model.1 (2).
  explicit Mesh(const std::vector<std::pair<std::string, int64_t>>& named);

  const std::vector<MeshAxis>& axes() const { return axes_; }
  const std::vector<std::pair<std::string, int64_t>>& named() const { return named_; }
  int64_t ranks() const;
  /// Product of the sizes of some axes.
  int64_t ways(const Axes& axes) const;
  /// Row-major over all sub-axes, last fastest.
  std::vector<int64_t> coordinates(int64_t rank) const;
  int64_t rank_of(const std::vector<int64_t>& coordinates) const;
  /// The index of a coordinate among the `ways(axes)` combinations of some axes, first axis slowest.
  int64_t index_on(const std::vector<int64_t>& coordinates, const Axes& axes) const;
  /// The ranks that differ from `rank` on `axes` only, in the order of `index_on`.
  std::vector<int> group(int64_t rank, const Axes& axes) const;
  /// The sub-axes of a named axis; throws InvalidArgument with the nearest name.
  Axes find(const std::string& name) const;
  /// The sub-axis of this name; throws InvalidArgument.
  int axis(std::string_view name) const;
  std::string print(const Axes& axes) const;  // "mp.0,mp.1"
  bool operator==(const Mesh& other) const { return named_ == other.named_; }

 private:
  std::vector<MeshAxis> axes_;
  std::vector<std::pair<std::string, int64_t>> named_;
};

/// "mesh data=4 model=6"; parse_mesh reads it back.
std::string print(const Mesh& mesh);
Mesh parse_mesh(std::string_view text);

}  // namespace partita
