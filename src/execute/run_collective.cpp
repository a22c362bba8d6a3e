#include "execute/run_collective.h"

#include <cstring>
#include <memory>

#include "execute/shard_copy.h"
#include "partition/collectives.h"

namespace partita {
namespace {

std::vector<Range> held_by(const LocalGraph& local, ValueId value, int64_t rank) {
  return held(local.graph.type(value), local.shardings[value], local.mesh, local.mesh.coordinates(rank));
}

/// `inner` in the coordinates of a box that starts at `outer`.
std::vector<Range> relative(const std::vector<Range>& inner, const std::vector<Range>& outer) {
  std::vector<Range> ranges;
  for (size_t d = 0; d < inner.size(); ++d) {
    ranges.push_back({inner[d].begin - outer[d].begin, inner[d].end - outer[d].begin, outer[d].count()});
  }
  return ranges;
}

int64_t volume(const std::vector<Range>& ranges) {
  int64_t count = 1;
  for (const Range& range : ranges) count *= range.count();
  return count;
}

/// Dimensions before `dim` that have more than one element make the parts of a gather interleave.
bool interleaved(const Shape& shape, int64_t dim) {
  int64_t outer = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= shape[d];
  return outer > 1;
}

struct Parts {
  std::vector<std::vector<Range>> ranges;  // of each member, in the coarser shard
  std::vector<int64_t> counts;
};

/// How the coarser value of a gather or scatter falls apart over the group.
Parts parts_of(const LocalGraph& local, ValueId coarse, ValueId fine, int64_t rank, const Axes& axes) {
  Parts parts;
  const std::vector<Range> outer = held_by(local, coarse, rank);
  for (int member : local.mesh.group(rank, axes)) {
    parts.ranges.push_back(relative(held_by(local, fine, member), outer));
    parts.counts.push_back(volume(parts.ranges.back()));
  }
  return parts;
}

}  // namespace

std::function<void()> bind_collective(const LocalGraph& local, NodeId id, int64_t rank, const void* input, void* output,
                                      int64_t bytes, const Groups& groups) {
  const Node& node = local.graph.nodes[id];
  const CollectiveAttrs& attrs = node.attrs.as<CollectiveAttrs>();
  const Axes axes = axes_of(node, local.mesh);
  const ValueId from = node.inputs[0], to = node.outputs[0];
  const Type in = local.type(from, local.mesh.coordinates(rank)), out = local.type(to, local.mesh.coordinates(rank));
  const auto size = static_cast<int64_t>(size_of(in.dtype));

  if (node.op == "slice_shard") {
    const std::vector<Range> part = relative(held_by(local, to, rank), held_by(local, from, rank));
    return [=] { copy_part({in, input}, part, output); };
  }
  Communicator& group = groups.at(axes);
  if (node.op == "all_reduce") {
    return [=, &group, reduce = attrs.reduce] {
      if (input != output) std::memcpy(output, input, bytes);
      group.all_reduce(output, bytes / size, in.dtype, reduce);
    };
  }
  const bool gather = node.op == "all_gather";
  const Parts parts = parts_of(local, gather ? to : from, gather ? from : to, rank, axes);
  const Type& whole = gather ? out : in;
  const auto buffer = std::make_shared<Array>(interleaved(whole.shape, attrs.dim) ? whole : Type{whole.dtype, {0}});
  const bool direct = buffer->type().elements() == 0;
  if (gather) {
    return [=, &group] {
      group.all_gather(input, direct ? output : buffer->data(), parts.counts, in.dtype);
      int64_t at = 0;
      for (size_t i = 0; !direct && i < parts.counts.size(); at += parts.counts[i++] * size) {
        copy_back(static_cast<const char*>(buffer->data()) + at, parts.ranges[i], {out, output});
      }
    };
  }
  PARTITA_CHECK(node.op == "reduce_scatter", "unknown collective {}", node.op);
  return [=, &group, reduce = attrs.reduce] {
    int64_t at = 0;
    for (size_t i = 0; !direct && i < parts.counts.size(); at += parts.counts[i++] * size) {
      copy_part({in, input}, parts.ranges[i], static_cast<char*>(buffer->data()) + at);
    }
    group.reduce_scatter(direct ? input : buffer->data(), output, parts.counts, in.dtype, reduce);
  };
}

}  // namespace partita
