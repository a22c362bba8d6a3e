#pragma once
// The ranks of one pipeline stage as named axes, slowest link first. Axes are split into prime
// sub-axes, largest prime first, unless they are undivided; decisions speak of sub-axes only.
// Micro-batches cut a program in time as axes do in space: they have an axis that cuts and reduces as others do, over
// which there are no ranks and no groups.

#include <string>
#include <unordered_map>
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

constexpr int64_t kMaxMeshRanks = int64_t{1} << 20;  // of a mesh
constexpr int64_t kMaxMicroBatches = int64_t{1} << 16;

class Mesh {
 public:
  /// One rank.
  Mesh() = default;
  /// {{"data", 4}, {"model", 6}} has sub-axes data.0 data.1 model.0 (3) model.1 (2).
  /// The rank at each place, places counted row-major, is `rank_list[place]`, or the place itself without a list.
  /// Throws InvalidArgument for bad names and sizes, and for a list that repeats a rank or has another length.
  explicit Mesh(const std::vector<std::pair<std::string, int64_t>>& named, std::vector<int> rank_list = {});

  /// Each named axis is its own sub-axis: decisions then cut by whole axes only, of which there are fewer to search.
  static Mesh undivided(const std::vector<std::pair<std::string, int64_t>>& named, std::vector<int> rank_list = {});
  bool is_undivided() const { return undivided_; }

  /// The same ranks with an axis "micro" of `count` micro-batches behind the others, or without one for a count of 1.
  /// Throws InvalidArgument when an axis of ranks has that name.
  Mesh with_micro_batches(int64_t count) const;
  /// The axis of micro-batches, or -1.
  int micro_axis() const { return micro_; }
  int64_t micro_batches() const { return micro_ < 0 ? 1 : axes_[micro_].size; }
  /// The axes of ranks stand in front of it.
  size_t rank_axes() const { return micro_ < 0 ? axes_.size() : static_cast<size_t>(micro_); }

  const std::vector<MeshAxis>& axes() const { return axes_; }
  const std::vector<std::pair<std::string, int64_t>>& named() const { return named_; }
  int64_t ranks() const;
  /// Empty when every rank is at its own place.
  const std::vector<int>& rank_list() const { return rank_list_; }
  /// Product of the sizes of some axes.
  int64_t ways(const Axes& axes) const;
  /// Where a place of the row-major order over all sub-axes of ranks, last fastest, is on each of them, in the first
  /// micro-batch.
  std::vector<int64_t> coordinates_at(int64_t place) const;
  std::vector<int64_t> coordinates(int64_t rank, int64_t micro_batch = 0) const;
  int64_t rank_of(const std::vector<int64_t>& coordinates) const;
  /// The index of a coordinate among the `ways(axes)` combinations of some axes, first axis slowest.
  int64_t index_on(const std::vector<int64_t>& coordinates, const Axes& axes) const;
  /// Moves a coordinate to an index on some axes.
  void move_to(std::vector<int64_t>& coordinates, const Axes& axes, int64_t index) const;
  /// The ranks that differ from `rank` on `axes` only, in the order of `index_on`.
  std::vector<int> group(int64_t rank, const Axes& axes) const;
  /// Member `index` of that group, without the others.
  int64_t member(int64_t rank, const Axes& axes, int64_t index) const;
  /// The sub-axes of a named axis; throws InvalidArgument with the nearest name.
  Axes find(const std::string& name) const;
  /// The sub-axis of this name; throws InvalidArgument.
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
  std::unordered_map<int64_t, int64_t> places_;  // of the ranks of a list
};

/// The group of a rank, "0,1,2,3" with the separator ","; of a large one the first ranks and the last (base/listed.h).
std::string print_group(const Mesh& mesh, int64_t rank, const Axes& axes, std::string_view separator);

/// "mesh data=4 model=6", "mesh undivided data=4", "mesh data=2 model=2 ranks=(0,2,1,3)", each with " | micro=8" behind
/// it for micro-batches; parse_mesh reads it back.
std::string print(const Mesh& mesh);
Mesh parse_mesh(std::string_view text);

}  // namespace partita
