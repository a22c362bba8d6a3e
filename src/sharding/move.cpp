#include "sharding/move.h"

#include <algorithm>

namespace partita {

double local_elements(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh) {
  double count = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    count *= static_cast<double>(type.shape[d]) / static_cast<double>(mesh.ways(dims[d]));
  }
  return count;
}

double local_bytes(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh) {
  return local_elements(type, dims, mesh) * static_cast<double>(size_of(type.dtype));
}

LinkCosts LinkCosts::bytes(const Mesh& mesh) {
  return {std::vector<double>(mesh.axes().size(), 0), std::vector<double>(mesh.axes().size(), 1)};
}

double cost_of(const Move& move, const Type& type, const Sharding& from, const Mesh& mesh, const LinkCosts& costs) {
  double step = 0, byte = 0;
  for (int axis : move.axes) {
    step = std::max(step, costs.step[axis]);
    byte = std::max(byte, costs.byte[axis]);
  }
  const double before = local_bytes(type, from.dims, mesh), ways = static_cast<double>(mesh.ways(move.axes));
  switch (move.kind) {
    case Collective::slice: return 0;
    case Collective::all_gather: return (ways - 1) * (step + before * byte);
    case Collective::all_to_all: return (ways - 1) * (step + before / ways * byte);
    case Collective::permute: return step + before * byte;
    case Collective::reduce_scatter: return (ways - 1) * (step + before / ways * byte);
    case Collective::all_reduce: return 2 * (ways - 1) * (step + before / ways * byte);
    default: PARTITA_CHECK(false, "{} is no move", name_of(move.kind));
  }
  return 0;
}

}  // namespace partita
