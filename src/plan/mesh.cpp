#include "plan/mesh.h"

#include <algorithm>
#include <charconv>

namespace partita {

namespace {

constexpr int64_t kMostRanks = int64_t{1} << 20;

/// The prime factors of a size, largest first.
std::vector<int64_t> primes_of(int64_t size) {
  std::vector<int64_t> primes;
  for (int64_t prime = 2; prime * prime <= size; ++prime) {
    for (; size % prime == 0; size /= prime) primes.push_back(prime);
  }
  if (size > 1) primes.push_back(size);
  std::reverse(primes.begin(), primes.end());
  return primes;
}

bool is_axis_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

void check_named(const std::vector<std::pair<std::string, int64_t>>& named) {
  int64_t ranks = 1;
  for (size_t i = 0; i < named.size(); ++i) {
    const auto& [name, size] = named[i];
    if (!is_axis_name(name)) {
      throw InvalidArgument(
          fmt::format("[mesh] bad name of an axis, got '{}', expected letters, digits, _ or -", name));
    }
    if (size < 1 || size > kMostRanks / ranks) {
      throw InvalidArgument(
          fmt::format("[mesh] bad size of axis '{}', got {}, expected 1 to {}", name, size, kMostRanks / ranks));
    }
    ranks *= size;
    for (size_t j = 0; j < i; ++j) {
      if (named[j].first == name) {
        throw InvalidArgument(fmt::format("[mesh] two axes have one name, got '{}' twice, expected two names", name));
      }
    }
  }
}

}  // namespace

Mesh::Mesh(const std::vector<std::pair<std::string, int64_t>>& named) : named_(named) {
  check_named(named);
  for (const auto& [name, size] : named) {
    const std::vector<int64_t> primes = primes_of(size);
    for (size_t i = 0; i < primes.size(); ++i) {
      axes_.push_back({primes.size() == 1 ? name : fmt::format("{}.{}", name, i), primes[i]});
    }
  }
}

int64_t Mesh::ranks() const {
  int64_t ranks = 1;
  for (const MeshAxis& axis : axes_) ranks *= axis.size;
  return ranks;
}

int64_t Mesh::ways(const Axes& axes) const {
  int64_t ways = 1;
  for (int axis : axes) ways *= axes_.at(axis).size;
  return ways;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  PARTITA_CHECK(rank >= 0 && rank < ranks(), "rank {} of {}", rank, ranks());
  std::vector<int64_t> coordinates(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    coordinates[i] = rank % axes_[i].size;
    rank /= axes_[i].size;
  }
  return coordinates;
}

int64_t Mesh::rank_of(const std::vector<int64_t>& coordinates) const {
  PARTITA_CHECK(coordinates.size() == axes_.size(), "{} coordinates of {} axes", coordinates.size(), axes_.size());
  int64_t rank = 0;
  for (size_t i = 0; i < axes_.size(); ++i) rank = rank * axes_[i].size + coordinates[i];
  return rank;
}

int64_t Mesh::index_on(const std::vector<int64_t>& coordinates, const Axes& axes) const {
  int64_t index = 0;
  for (int axis : axes) index = index * axes_.at(axis).size + coordinates.at(axis);
  return index;
}

std::vector<int> Mesh::group(int64_t rank, const Axes& axes) const {
  std::vector<int64_t> at = coordinates(rank);
  std::vector<int> ranks(ways(axes));
  for (size_t index = 0; index < ranks.size(); ++index) {
    int64_t rest = static_cast<int64_t>(index);
    for (size_t i = axes.size(); i-- > 0;) {
      at[axes[i]] = rest % axes_[axes[i]].size;
      rest /= axes_[axes[i]].size;
    }
    ranks[index] = static_cast<int>(rank_of(at));
  }
  return ranks;
}

Axes Mesh::find(const std::string& name) const {
  Axes found;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const std::string& axis = axes_[i].name;
    if (axis == name || axis.substr(0, axis.find('.')) == name) found.push_back(static_cast<int>(i));
  }
  std::vector<std::string> names;
  for (const auto& [named, size] : named_) {
    if (named == name) return found;  // empty for an axis of one rank
    names.push_back(named);
  }
  if (!found.empty()) return found;
  throw InvalidArgument(fmt::format("[mesh] no such axis, got '{}', expected one of {}{}", name, fmt::join(names, " "),
                                    did_you_mean(name, names)),
                        ErrorKind::key);
}

int Mesh::axis(std::string_view name) const {
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return static_cast<int>(a);
  }
  throw InvalidArgument(fmt::format("[mesh] unknown axis, got '{}', expected one of {}", name, partita::print(*this)));
}

std::string Mesh::print(const Axes& axes) const {
  std::string text;
  for (int axis : axes) text += (text.empty() ? "" : ",") + axes_.at(axis).name;
  return text;
}

std::string print(const Mesh& mesh) {
  std::string text = "mesh";
  for (const auto& [name, size] : mesh.named()) text += fmt::format(" {}={}", name, size);
  return text;
}

Mesh parse_mesh(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  if (words.empty() || words[0] != "mesh") {
    throw InvalidArgument(fmt::format("[mesh] not a mesh, got '{}', expected 'mesh NAME=SIZE ...'", text));
  }
  std::vector<std::pair<std::string, int64_t>> named;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = std::min(word.find('='), word.size());
    const char* begin = word.data() + std::min(equals + 1, word.size());
    const char* end = word.data() + word.size();
    int64_t size = 0;
    const auto [stop, error] = std::from_chars(begin, end, size);
    if (begin == end || error != std::errc{} || stop != end) {
      throw InvalidArgument(fmt::format("[mesh] bad axis, got '{}', expected NAME=SIZE", word));
    }
    named.emplace_back(word.substr(0, equals), size);
  }
  return Mesh(named);
}

}  // namespace partita
