#include "runtime/execute/gather_value.h"

#include "runtime/execute/shard_copy.h"

namespace partita {

Array gather_value(const LocalGraph& local, ValueId value, Array& own, Groups& groups, int64_t rank) {
  const Type& type = local.graph.type(value);
  const std::vector<Axes>& dims = local.shardings[value].dims;
  Axes axes;
  for (const Axes& of_dim : dims) axes.insert(axes.end(), of_dim.begin(), of_dim.end());
  groups.add(axes);
  Communicator& group = groups.at(axes);
  std::vector<Box> boxes;
  std::vector<int64_t> counts;
  for (const int64_t member : local.mesh.group(rank, axes)) {
    boxes.push_back(local_ranges(type, local.shardings[value], local.mesh, local.mesh.coordinates(member)));
    counts.push_back(local.type(value, local.mesh.coordinates(member)).elements());
  }
  Array whole(type);
  size_t first = 0;  // the first dimension with more than one element
  while (first < type.shape.size() && type.shape[first] == 1) ++first;
  if (first < dims.size() && axes == dims[first]) {  // the parts are contiguous, in rank order
    group.all_gather(own.data(), whole.data(), counts, type.dtype);
    return whole;
  }
  for (int member = 0; member < group.size(); ++member) {
    Array other(member == group.rank() ? Type{type.dtype, {0}} : Type{type.dtype, {counts[member]}});
    Array& part = member == group.rank() ? own : other;
    group.broadcast(part.data(), counts[member], type.dtype, member);
    copy_back(part.data(), boxes[member], whole.tensor());
  }
  return whole;
}

}  // namespace partita
