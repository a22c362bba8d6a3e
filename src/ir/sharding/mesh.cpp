#include "ir/sharding/mesh.h"

#include <algorithm>

#include "base/cursor.h"
#include "base/listed.h"
#include "ir/sharding/axis_limit.h"

namespace partita {

namespace {

constexpr std::string_view kMicro = "micro";

/// Returns the prime factors of a size, largest first; none for 1.
std::vector<int64_t> primes_of(int64_t size) {
  std::vector<int64_t> primes;
  for (int64_t prime = 2; prime * prime <= size; ++prime) {
    for (; size % prime == 0; size /= prime) primes.push_back(prime);
  }
  if (size > 1) primes.push_back(size);
  std::ranges::reverse(primes);
  return primes;
}

bool is_axis_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// Whether each rank of a list is at its own place.
bool in_order(const std::vector<int>& list) {
  for (size_t place = 0; place < list.size(); ++place) {
    if (list[place] != static_cast<int>(place)) return false;
  }
  return true;
}

void check_named(const std::vector<std::pair<std::string, int64_t>>& named) {
  if (named.size() > kMaxNamedAxes) {
    throw InvalidArgument("[mesh] too many axes, got {}, expected at most {}", named.size(), kMaxNamedAxes);
  }
  int64_t ranks = 1;
  for (size_t i = 0; i < named.size(); ++i) {
    const auto& [name, size] = named[i];
    if (!is_axis_name(name)) {
      throw InvalidArgument("[mesh] bad name of an axis, got '{}', expected letters, digits, _ or -", name);
    }
    if (size < 1 || size > kMaxMeshRanks / ranks) {
      throw InvalidArgument("[mesh] bad size of axis '{}', got {}, expected 1 to {}", name, size,
                            kMaxMeshRanks / ranks);
    }
    ranks *= size;
    for (size_t j = 0; j < i; ++j) {
      if (named[j].first == name) {
        throw InvalidArgument("[mesh] two axes have the same name, got '{}' twice, expected two names", name);
      }
    }
  }
}

}  // namespace

Mesh::Mesh(const std::vector<std::pair<std::string, int64_t>>& named, std::vector<int> rank_list)
    : named_(named), rank_list_(std::move(rank_list)) {
  check_named(named);
  for (const auto& [name, size] : named) {
    const std::vector<int64_t> primes = primes_of(size);
    for (size_t i = 0; i < primes.size(); ++i) {
      axes_.push_back({primes.size() == 1 ? name : fmt::format("{}.{}", name, i), primes[i]});
    }
  }
  if (rank_list_.empty()) return;
  if (static_cast<int64_t>(rank_list_.size()) != ranks()) {
    throw InvalidArgument("[mesh] the list of ranks has the wrong length, got {}, expected {}", rank_list_.size(),
                          ranks());
  }
  for (size_t place = 0; place < rank_list_.size(); ++place) {
    const int rank = rank_list_[place];
    if (rank >= 0 && rank < kMaxMeshRanks && places_.emplace(rank, static_cast<int64_t>(place)).second) continue;
    throw InvalidArgument("[mesh] bad list of ranks, got {} at place {}, expected different ranks from 0 to {}", rank,
                          place, kMaxMeshRanks - 1);
  }
  if (in_order(rank_list_)) {
    rank_list_.clear();
    places_.clear();
  }
}

Mesh Mesh::undivided(const std::vector<std::pair<std::string, int64_t>>& named, std::vector<int> rank_list) {
  Mesh mesh(named, std::move(rank_list));
  mesh.undivided_ = true;
  mesh.axes_.clear();
  for (const auto& [name, size] : named) {
    if (size > 1) mesh.axes_.push_back({name, size});
  }
  return mesh;
}

Mesh Mesh::with_micro_batches(int64_t count) const {
  Mesh mesh = *this;
  mesh.axes_.resize(rank_axes());
  mesh.micro_ = -1;
  if (count == 1) return mesh;
  if (count < 1 || count > kMaxMicroBatches) {
    throw InvalidArgument("[mesh] bad number of micro-batches, got {}, expected 1 to {}", count, kMaxMicroBatches);
  }
  for (const auto& [name, size] : named_) {
    if (name != kMicro) continue;
    throw InvalidArgument("[mesh] an axis of ranks has the name of the micro-batches, got '{}', expected another name",
                          name);
  }
  mesh.micro_ = static_cast<int>(mesh.axes_.size());
  mesh.axes_.push_back({std::string(kMicro), count});
  return mesh;
}

int64_t Mesh::ranks() const {
  int64_t ranks = 1;
  for (size_t a = 0; a < rank_axes(); ++a) ranks *= axes_[a].size;
  return ranks;
}

int64_t Mesh::ways(const Axes& axes) const {
  int64_t ways = 1;
  for (int axis : axes) ways *= axes_.at(axis).size;
  return ways;
}

int64_t Mesh::place_of(int64_t rank) const {
  if (rank_list_.empty()) return rank;
  const auto found = places_.find(rank);
  PARTITA_CHECK(found != places_.end(), "rank {} is not in {}", rank, partita::print(*this));
  return found->second;
}

std::vector<int64_t> Mesh::coordinates_at(int64_t place) const {
  PARTITA_CHECK(place >= 0 && place < ranks(), "place {} of {}", place, ranks());
  std::vector<int64_t> coordinates(axes_.size());
  for (size_t i = rank_axes(); i-- > 0;) {
    coordinates[i] = place % axes_[i].size;
    place /= axes_[i].size;
  }
  return coordinates;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank, int64_t micro_batch) const {
  std::vector<int64_t> coordinates = coordinates_at(place_of(rank));
  if (micro_ >= 0) coordinates[micro_] = micro_batch;
  return coordinates;
}

int64_t Mesh::rank_of(const std::vector<int64_t>& coordinates) const {
  PARTITA_CHECK(coordinates.size() == axes_.size(), "{} coordinates of {} axes", coordinates.size(), axes_.size());
  int64_t place = 0;
  for (size_t i = 0; i < rank_axes(); ++i) place = place * axes_[i].size + coordinates[i];
  return rank_list_.empty() ? place : rank_list_.at(place);
}

int64_t Mesh::index_on(const std::vector<int64_t>& coordinates, const Axes& axes) const {
  int64_t index = 0;
  for (int axis : axes) index = index * axes_.at(axis).size + coordinates.at(axis);
  return index;
}

void Mesh::move_to(std::vector<int64_t>& coordinates, const Axes& axes, int64_t index) const {
  for (size_t i = axes.size(); i-- > 0;) {
    coordinates.at(axes[i]) = index % axes_[axes[i]].size;
    index /= axes_[axes[i]].size;
  }
}

int64_t Mesh::member(int64_t rank, const Axes& axes, int64_t index) const {
  std::vector<int64_t> at = coordinates(rank);
  move_to(at, axes, index);
  return rank_of(at);
}

std::vector<int> Mesh::group(int64_t rank, const Axes& axes) const {
  std::vector<int> ranks(ways(axes));
  for (size_t index = 0; index < ranks.size(); ++index) {
    ranks[index] = static_cast<int>(member(rank, axes, static_cast<int64_t>(index)));
  }
  return ranks;
}

Axes Mesh::find(const std::string& name) const {
  Axes found;
  for (size_t i = 0; i < rank_axes(); ++i) {
    const std::string& axis = axes_[i].name;
    if (axis == name || axis.substr(0, axis.find('.')) == name) found.push_back(static_cast<int>(i));
  }
  std::vector<std::string> names;
  for (const auto& [named, size] : named_) {
    if (named == name) return found;  // empty for an axis of one rank
    names.push_back(named);
  }
  if (!found.empty()) return found;
  throw unknown_name("[mesh] unknown axis", name, fmt::format("one of {}", fmt::join(names, " ")), names);
}

int Mesh::axis(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return static_cast<int>(a);
    names.push_back(axes_[a].name);
  }
  throw unknown_name("[mesh] unknown axis", name,
                     names.empty() ? "none: the mesh has one rank" : fmt::format("one of {}", fmt::join(names, " ")),
                     names);
}

std::string Mesh::print(const Axes& axes) const {
  std::string text;
  for (int axis : axes) text += (text.empty() ? "" : ",") + axes_.at(axis).name;
  return text;
}

std::string print_group(const Mesh& mesh, int64_t rank, const Axes& axes, std::string_view separator) {
  return listed(
      mesh.ways(axes), [&](int64_t index) { return mesh.member(rank, axes, index); }, separator);
}

std::string print(const Mesh& mesh) {
  std::string text = mesh.is_undivided() ? "mesh undivided" : "mesh";
  for (const auto& [name, size] : mesh.named()) text += fmt::format(" {}={}", name, size);
  if (!mesh.rank_list().empty()) text += fmt::format(" ranks=({})", fmt::join(mesh.rank_list(), ","));
  if (mesh.micro_axis() >= 0) text += fmt::format(" | {}={}", kMicro, mesh.micro_batches());
  return text;
}

namespace {

/// Parses "mesh [undivided] NAME=SIZE ... [ranks=(RANK,...)] [| micro=COUNT]". Throws InvalidArgument for other texts
/// and bad meshes.
class MeshReader : public Cursor {
 public:
  explicit MeshReader(std::string_view text) : Cursor(text) {}

  Mesh mesh() {
    if (!take_word("mesh")) fail("not a mesh", rest(), "'mesh NAME=SIZE ...'");
    const bool undivided = take_word("undivided");
    std::vector<std::pair<std::string, int64_t>> named;
    std::vector<int> ranks;
    int64_t micro_batches = 1;
    while (!rest().empty()) {
      if (take("|")) {
        expect(kMicro);
        expect("=");
        micro_batches = number(1, kMaxMicroBatches);
        end();
        break;
      }
      if (ranks.empty() && take("ranks=(")) {
        ranks = rank_list();
        continue;
      }
      const std::string name = word("_-", "NAME=SIZE");
      expect("=");
      named.emplace_back(name, number(1, kMaxMeshRanks));
    }
    const Mesh mesh = undivided ? Mesh::undivided(named, std::move(ranks)) : Mesh(named, std::move(ranks));
    return mesh.with_micro_batches(micro_batches);
  }

 private:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return fmt::format("[mesh] {}, got '{}', expected {}", what, got, expected);
  }

  bool take_word(std::string_view wanted) { return rest().substr(0, rest().find(' ')) == wanted && take(wanted); }

  std::vector<int> rank_list() {
    std::vector<int> ranks;
    do {
      ranks.push_back(static_cast<int>(number(0, kMaxMeshRanks - 1)));
    } while (take(","));
    expect(")");
    return ranks;
  }
};

}  // namespace

Mesh parse_mesh(std::string_view text) { return MeshReader(text).mesh(); }

}  // namespace partita
