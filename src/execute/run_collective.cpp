#include "execute/run_collective.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

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

std::vector<Range> intersection(const std::vector<Range>& a, const std::vector<Range>& b) {
  std::vector<Range> both;
  for (size_t d = 0; d < a.size(); ++d) {
    const int64_t begin = std::max(a[d].begin, b[d].begin);
    both.push_back({begin, std::max(begin, std::min(a[d].end, b[d].end)), a[d].size});
  }
  return both;
}

/// The rank that has what `rank` gets from a permute: of those that hold it, each is asked by as many.
int64_t permute_source(const Mesh& mesh, const Sharding& from, const Sharding& to, int64_t rank) {
  const std::vector<int64_t> here = mesh.coordinates(rank);
  std::vector<int64_t> there = here;
  Axes used, free;  // axes that cut before and not after, and the other way round
  const auto cuts = [](const Sharding& sharding, int axis) {
    return std::any_of(sharding.dims.begin(), sharding.dims.end(),
                       [&](const Axes& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
  };
  for (size_t a = 0; a < mesh.axes().size(); ++a) {
    const int axis = static_cast<int>(a);
    if (cuts(from, axis) && !cuts(to, axis)) used.push_back(axis);
    if (cuts(to, axis) && !cuts(from, axis)) free.push_back(axis);
  }
  for (int axis : free) {
    const auto same = [&](int other) { return mesh.axes()[other].size == mesh.axes()[axis].size; };
    const auto pair = std::find_if(used.begin(), used.end(), same);
    if (pair == used.end()) continue;
    there[axis] = here[*pair];
    used.erase(pair);
  }
  for (size_t d = 0; d < from.dims.size(); ++d) {
    int64_t index = mesh.index_on(here, to.dims[d]);
    for (size_t i = from.dims[d].size(); i-- > 0;) {
      const int axis = from.dims[d][i];
      there[axis] = index % mesh.axes()[axis].size;
      index /= mesh.axes()[axis].size;
    }
  }
  return mesh.rank_of(there);
}

/// What a rank sends to and gets from each member of its group: boxes of what it holds before and after.
struct Exchange {
  std::vector<std::vector<Range>> send, receive;
  std::vector<int64_t> send_counts, receive_counts;
};

Exchange exchange_of(const LocalGraph& local, const Node& node, int64_t rank, const Axes& axes) {
  const ValueId from = node.inputs[0], to = node.outputs[0];
  const auto source = [&](int64_t who) {
    return permute_source(local.mesh, local.shardings[from], local.shardings[to], who);
  };
  /// What goes from one rank to another, in global indices.
  const auto sent = [&](int64_t giver, int64_t taker) {
    if (node.op != "permute") return intersection(held_by(local, from, giver), held_by(local, to, taker));
    std::vector<Range> box = held_by(local, from, giver);
    for (Range& range : box) range.end = source(taker) == giver ? range.end : range.begin;
    return box;
  };
  Exchange exchange;
  for (int64_t member : local.mesh.group(rank, axes)) {
    exchange.send.push_back(relative(sent(rank, member), held_by(local, from, rank)));
    const std::vector<Range> got = sent(member, rank);
    // The indices of a permuted shard are the same on both sides when it moves at all.
    exchange.receive.push_back(relative(got, volume(got) > 0 ? held_by(local, to, rank) : got));
    exchange.send_counts.push_back(volume(exchange.send.back()));
    exchange.receive_counts.push_back(volume(exchange.receive.back()));
  }
  return exchange;
}

std::function<void()> bind_exchange(const LocalGraph& local, const Node& node, int64_t rank, ConstTensor input,
                                    Tensor output, Communicator& group) {
  const Exchange exchange = exchange_of(local, node, rank, axes_of(node, local.mesh));
  const auto size = static_cast<int64_t>(size_of(input.type.dtype));
  const auto total = [](const std::vector<int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
  };
  const auto out = std::make_shared<Array>(Type{input.type.dtype, {total(exchange.send_counts)}});
  const auto in = std::make_shared<Array>(Type{input.type.dtype, {total(exchange.receive_counts)}});
  return [=, &group] {
    int64_t at = 0;
    for (size_t i = 0; i < exchange.send.size(); at += exchange.send_counts[i++] * size) {
      if (exchange.send_counts[i] > 0) copy_part(input, exchange.send[i], static_cast<char*>(out->data()) + at);
    }
    group.all_to_all(out->data(), exchange.send_counts, in->data(), exchange.receive_counts, input.type.dtype);
    at = 0;
    for (size_t i = 0; i < exchange.receive.size(); at += exchange.receive_counts[i++] * size) {
      if (exchange.receive_counts[i] == 0) continue;
      copy_back(static_cast<const char*>(in->data()) + at, exchange.receive[i], output);
    }
  };
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
  if (node.op == "all_to_all" || node.op == "permute" || node.op == kHaloExchange) {
    return bind_exchange(local, node, rank, {in, input}, {out, output}, group);
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
