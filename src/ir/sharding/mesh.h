#pragma once
// The ranks of one pipeline stage as named axes, slowest link first. Axes are split into prime sub-axes, largest prime
// first, unless the mesh is undivided. Shardings and cuts use sub-axes only.
// Micro-batches cut a program in time as axes do in space. They have an axis that cuts and reduces like the others, but
// has no ranks and no groups.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"

namespace partita {

/// A sub-axis.
struct MeshAxis {
  std::string name;  // "data", or "mp.0" if the named axis has several primes
  int64_t size = 1;
};

/// Indices of sub-axes, slowest (outermost) first.
using Axes = std::vector<int>;

constexpr int64_t kMaxMeshRanks = int64_t{1} << 20;  // ranks of a mesh
constexpr int64_t kMaxMicroBatches = int64_t{1} << 16;

/// An immutable mesh. A rank's place is its row-major position over all sub-axes of ranks, last axis fastest; its
/// coordinates are its position on each sub-axis, micro-batches included.
class Mesh {
 public:
  /// A mesh of one rank.
  Mesh() = default;
  /// Makes a mesh with prime sub-axes: {{"data", 4}, {"model", 6}} has data.0 data.1 model.0 (3) model.1 (2).
  /// `rank_list` gives the rank at each place; empty = rank r at place r. Throws InvalidArgument for names that are
  /// empty, repeated or contain other characters than letters, digits, '_' and '-', sizes below 1, more than
  /// kMaxNamedAxes axes or kMaxMeshRanks ranks, and for a list that has another length, repeats a rank or has one that
  /// is not from 0 to kMaxMeshRanks - 1.
  explicit Mesh(const std::vector<std::pair<std::string, int64_t>>& named, std::vector<int> rank_list = {});

  /// Makes a mesh whose sub-axes are the named axes. Cuts then use whole axes only, so there are fewer to search.
  /// Throws as the constructor does.
  static Mesh undivided(const std::vector<std::pair<std::string, int64_t>>& named, std::vector<int> rank_list = {});
  bool is_undivided() const { return undivided_; }

  /// Returns the same mesh with a last axis "micro" of `count` micro-batches, or without one if `count` is 1. Throws
  /// InvalidArgument if `count` is not in 1 to kMaxMicroBatches or an axis of ranks is called "micro".
  Mesh with_micro_batches(int64_t count) const;
  /// Returns the axis of micro-batches, or -1.
  int micro_axis() const { return micro_; }
  int64_t micro_batches() const { return micro_ < 0 ? 1 : axes_[micro_].size; }
  /// Number of sub-axes of ranks, which come before the axis of micro-batches.
  size_t rank_axes() const { return micro_ < 0 ? axes_.size() : static_cast<size_t>(micro_); }

  /// All sub-axes, that of micro-batches last.
  const std::vector<MeshAxis>& axes() const { return axes_; }
  /// Named axes as given.
  const std::vector<std::pair<std::string, int64_t>>& named() const { return named_; }
  int64_t ranks() const;
  /// The rank at each place; empty if every rank is at its own place.
  const std::vector<int>& rank_list() const { return rank_list_; }
  /// Returns the product of the sizes of some axes, 1 for none.
  int64_t ways(const Axes& axes) const;
  /// Returns the coordinates of a place, in the first micro-batch. Throws InternalError if there is no such place.
  std::vector<int64_t> coordinates_at(int64_t place) const;
  /// Returns the coordinates of a rank in a micro-batch. Throws InternalError if the mesh lacks the rank.
  std::vector<int64_t> coordinates(int64_t rank, int64_t micro_batch = 0) const;
  /// Returns the rank at the coordinates. The micro-batch is ignored. Throws InternalError unless there is one
  /// coordinate per sub-axis.
  int64_t rank_of(const std::vector<int64_t>& coordinates) const;
  /// Returns the index of the coordinates among the `ways(axes)` combinations of `axes`, first axis slowest.
  int64_t index_on(const std::vector<int64_t>& coordinates, const Axes& axes) const;
  /// Moves the coordinates to an index on `axes`; inverse of `index_on`.
  void move_to(std::vector<int64_t>& coordinates, const Axes& axes, int64_t index) const;
  /// Returns `rank` and the ranks that differ from it on `axes` only, in the order of `index_on`. Throws InternalError
  /// if the mesh lacks the rank.
  std::vector<int> group(int64_t rank, const Axes& axes) const;
  /// Returns member `index` of `group(rank, axes)`, without computing the others. Throws as `group` does.
  int64_t member(int64_t rank, const Axes& axes, int64_t index) const;
  /// Returns the sub-axes of ranks of a named axis, or the sub-axis of that name. The result is empty for an axis of
  /// one rank. Throws InvalidArgument with the nearest name if there is none.
  Axes find(const std::string& name) const;
  /// Returns the sub-axis of this name, which may be that of the micro-batches. Throws InvalidArgument with the nearest
  /// name if there is none.
  int axis(std::string_view name) const;
  std::string print(const Axes& axes) const;  // "mp.0,mp.1"
  bool operator==(const Mesh& other) const {
    return named_ == other.named_ && rank_list_ == other.rank_list_ && undivided_ == other.undivided_ &&
           micro_batches() == other.micro_batches();
  }

 private:
  int64_t place_of(int64_t rank) const;

  std::vector<MeshAxis> axes_;
  std::vector<std::pair<std::string, int64_t>> named_;
  bool undivided_ = false;
  int micro_ = -1;
  std::vector<int> rank_list_;
  std::unordered_map<int64_t, int64_t> places_;  // place by rank; empty without a list
};

/// Returns `Mesh::group` of a rank as text: "0,1,2,3" with the separator ",". Large groups are shortened
/// (base/listed.h). Throws InternalError if the mesh lacks the rank.
std::string print_group(const Mesh& mesh, int64_t rank, const Axes& axes, std::string_view separator);

/// Returns "mesh data=4 model=6", "mesh undivided data=4" or "mesh data=2 model=2 ranks=(0,2,1,3)", each followed by "
/// | micro=8" if there are micro-batches.
std::string print(const Mesh& mesh);
/// Parses what `print` writes. Throws InvalidArgument for other texts, and for what the constructor of Mesh or
/// `with_micro_batches` refuses.
Mesh parse_mesh(std::string_view text);

}  // namespace partita
