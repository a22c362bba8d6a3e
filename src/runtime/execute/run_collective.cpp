#include "runtime/execute/run_collective.h"

#include <cstring>

#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"
#include "runtime/comm/rank_parts.h"
#include "runtime/comm/round_bf16.h"
#include "runtime/execute/shard_copy.h"

namespace partita {
namespace {

/// Copies the boxes of `whole` to `packed`, dense, one after another. `counts` has the elements of each box; boxes with
/// a count of 0 are skipped.
void pack(ConstTensor whole, const std::vector<Box>& boxes, const std::vector<int64_t>& counts, void* packed) {
  RankParts parts(packed, counts, whole.type.dtype);
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (const BufferPart part = parts(i); part.bytes > 0) copy_part(whole, boxes[i], part.data);
  }
}

void unpack(const void* packed, const std::vector<Box>& boxes, const std::vector<int64_t>& counts, Tensor whole) {
  RankParts parts(packed, counts, whole.type.dtype);
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (const BufferPart part = parts(i); part.bytes > 0) copy_back(part.data, boxes[i], whole);
  }
}

/// Operand, result and communicator of one collective node on one rank.
struct Binding {
  const Node& node;
  Type in_type, out_type;
  char *const *in, *const *out;
  Communicator* group;
  void *send, *receive;  // staging buffers; null: the operand or the result itself is used

  ConstTensor operand() const { return {in_type, *in}; }
  Tensor result() const { return {out_type, *out}; }

  std::function<void()> reduce(int64_t bytes) const {
    const int64_t elements = bytes / static_cast<int64_t>(size_of(in_type.dtype));
    if (attrs().wire) {
      return [*this, count = elements, wire = *attrs().wire, kind = attrs().reduce] {
        round_to_bf16(*in, *out, count);
        group->all_reduce(*out, count, wire, kind);
        widen_from_bf16(*out, *out, count);
      };
    }
    return [*this, count = elements, bytes, kind = attrs().reduce] {
      if (*in != *out) std::memcpy(*out, *in, bytes);
      group->all_reduce(*out, count, in_type.dtype, kind);
    };
  }

  std::function<void()> exchange(Exchange boxes) const {
    return [*this, boxes = std::move(boxes)] {
      pack(operand(), boxes.send, boxes.send_counts, send);
      group->all_to_all(send, boxes.send_counts, receive, boxes.receive_counts, in_type.dtype);
      unpack(receive, boxes.receive, boxes.receive_counts, result());
    };
  }

  std::function<void()> gather(Parts parts) const {
    return [*this, parts = std::move(parts)] {
      group->all_gather(*in, receive != nullptr ? receive : *out, parts.counts, in_type.dtype);
      if (receive != nullptr) unpack(receive, parts.ranges, parts.counts, result());
    };
  }

  /// Rounds the parts to what is sent, one after another: to the staging buffer or, if there is none, in place.
  std::function<void()> scatter_rounded(Parts parts, DType wire) const {
    return [*this, parts = std::move(parts), wire, count = in_type.elements(), kind = attrs().reduce] {
      char* rounded = *in;
      if (send == nullptr) {
        round_to_bf16(*in, *in, count);
      } else {
        rounded = static_cast<char*>(send);
        for (size_t i = 0, at = 0; i < parts.ranges.size(); at += static_cast<size_t>(parts.counts[i++])) {
          if (parts.counts[i] > 0) round_part(operand(), parts.ranges[i], rounded + at * size_of(wire));
        }
      }
      group->reduce_scatter(rounded, *out, parts.counts, wire, kind);
      widen_from_bf16(*out, *out, out_type.elements());
    };
  }

  std::function<void()> scatter(Parts parts) const {
    if (attrs().wire) return scatter_rounded(std::move(parts), *attrs().wire);
    return [*this, parts = std::move(parts), kind = attrs().reduce] {
      if (send != nullptr) pack(operand(), parts.ranges, parts.counts, send);
      group->reduce_scatter(send != nullptr ? send : *in, *out, parts.counts, in_type.dtype, kind);
    };
  }

  const CollectiveAttrs& attrs() const { return node.attrs.as<CollectiveAttrs>(); }
};

}  // namespace

std::function<void()> bind_collective(const LocalGraph& local, NodeId id, int64_t rank,
                                      const CollectiveBuffers& buffers, const Groups& groups,
                                      const int64_t& micro_batch) {
  const Node& node = local.graph.nodes[id];
  const std::vector<int64_t> coordinates = local.mesh.coordinates(rank);
  const Type in = local.type(node.inputs[0], coordinates), out = local.type(node.outputs[0], coordinates);
  if (performs(node, Collective::slice) || performs(node, Collective::stack)) {
    const bool slices = performs(node, Collective::slice);
    std::vector<Box> boxes;
    for (int64_t m = 0; m < local.mesh.micro_batches(); ++m) {
      boxes.push_back(slices ? slice_of(local, id, rank, m) : stacked_at(local, id, rank, m));
    }
    return [in, out, buffers, slices, boxes = std::move(boxes), &micro_batch] {
      slices ? copy_part({in, *buffers.input}, boxes[micro_batch], *buffers.output)
             : copy_back(*buffers.input, boxes[micro_batch], {out, *buffers.output});
    };
  }
  const bool in_place = buffers.scratch_bytes == 0 && can_round_in_place(local, id);
  const Staging staging = in_place ? Staging{} : staging_of(local, id, rank);
  PARTITA_CHECK(staging.bytes() <= buffers.scratch_bytes, "{}: {} bytes of scratch, {} were asked for", node.name,
                staging.bytes(), buffers.scratch_bytes);
  auto* scratch = static_cast<char*>(buffers.scratch);
  const Binding binding{.node = node,
                        .in_type = in,
                        .out_type = out,
                        .in = buffers.input,
                        .out = buffers.output,
                        .group = &groups.at(axes_of(node, local.mesh)),
                        .send = staging.send > 0 ? scratch : nullptr,
                        .receive = staging.receive > 0 ? scratch + staging.receive_offset() : nullptr};
  if (performs(node, Collective::all_reduce)) return binding.reduce(buffers.bytes);
  if (performs(node, Collective::all_gather)) return binding.gather(parts_of(local, id, rank));
  if (performs(node, Collective::reduce_scatter)) return binding.scatter(parts_of(local, id, rank));
  return binding.exchange(exchange_of(local, id, rank));
}

}  // namespace partita
