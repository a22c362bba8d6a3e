#pragma once
// The fields of a cluster file. Reading, printing and checking all use this list.

#include <array>
#include <optional>

#include "planner/cluster/cluster.h"

namespace partita {

/// The allowed values of a number; all of them are finite.
struct NumberRange {
  double least = 0, most = 0;
  bool above_least = false;  // whether `least` itself is refused
  bool or_none = false;      // whether 0 is allowed in addition
  std::string print() const;
  bool contains(double number) const;
};

inline constexpr double kMaxQuantity = 1e21;  // bytes, bytes/s, flop/s
inline constexpr double kMinShare = 1e-9;
inline constexpr NumberRange kSize{0, kMaxQuantity, true};
inline constexpr NumberRange kSizeOrNone{0, kMaxQuantity};
inline constexpr NumberRange kQuantity{1, kMaxQuantity};
inline constexpr NumberRange kQuantityOrNone{1, kMaxQuantity, false, true};
inline constexpr NumberRange kSeconds{0, 1e6};
inline constexpr NumberRange kShare{kMinShare, 1};
inline constexpr NumberRange kAnyShare{kMinShare, 1e6};
inline constexpr NumberRange kShareOrNone{0, 1};
inline constexpr NumberRange kFactor{1, 1e3};
inline constexpr NumberRange kElements{0, 1e9};

inline constexpr int64_t kMaxScoreKernels = 1000, kMaxChannelBlock = 1024;

/// Pointers to the numbers of a measured call, in the order of the file.
template <class AnyCall>
auto numbers_of(AnyCall& call) {
  return std::array{&call.flops, &call.bytes, &call.batch, &call.rows, &call.columns, &call.depth, &call.share};
}

/// Returns the file key of a map entry whose key is a text: the text itself.
inline std::string_view name_of(const std::string& key) { return key; }

/// Calls `visit` for the fields of the software costs (see `visit_fields`).
template <class AnySoftware, class Visit>
void visit_software(AnySoftware& software, Visit& visit) {
  visit.text("name", software.name);
  visit.choices("algorithms", software.algorithms);
  visit.number("step_overhead", software.step_overhead, kSeconds);
  visit.number("rank_overhead", software.rank_overhead, kSeconds);
  visit.number("host_overhead", software.host_overhead, kSeconds);
  visit.number("rank_skew", software.rank_skew, kSeconds);
  visit.number("switch_overhead", software.switch_overhead, kSeconds);
  visit.number("transfer_overhead", software.transfer_overhead, kSeconds);
  visit.number("product_overlap", software.product_overlap, kShareOrNone);
  visit.flag("reduces_behind", software.reduces_after_backward);
  // Files of versions without this key were priced so for all software.
  visit.flag("overlaps_micro_batches", software.overlaps_micro_batches, software.name != kOwnSoftware);
  visit.flag("gathers_ahead", software.prefetches_parameters);
  visit.flag("waits_for_transfers", software.waits_for_transfers);
  visit.flag("recomputes_whole", software.recomputes_whole);
  visit.flag("regathers", software.regathers);
  visit.flag("joins_products", software.joins_products);
  visit.flag("keeps_gradients", software.keeps_gradients);
  visit.whole("channel_block", software.channel_block, 0, kMaxChannelBlock);
  visit.number("mask_bytes", software.mask_bytes, kElements);
  visit.texts("fused", software.fused);
  visit.number("overlap_slowdown", software.overlap_slowdown, kFactor);
  visit.number("tree_share", software.tree_share, kShare);
  visit.whole("messages_at_once", software.messages_at_once, 1, int64_t{1} << 20);
  visit.named("link_share", software.link_share,
              [&](std::string_view name, auto& share) { visit.number(name, share, kShare); });
  visit.named("op_factor", software.op_factor,
              [&](std::string_view name, auto& factor) { visit.number(name, factor, kAnyShare); });
  visit.named("measured", software.measured, [&](std::string_view name, auto& groups) {
    visit.tables(name, groups, [&](auto& group) {
      visit.whole("ranks", group.ranks, 2, int64_t{1} << 20);
      visit.curve("shares", group.shares);
    });
  });
  visit.table("scores", [&] {
    auto& scores = software.scores;
    visit.number("forward_bytes", scores.forward_bytes, kElements);
    visit.number("backward_bytes", scores.backward_bytes, kElements);
    visit.number("kept_bytes", scores.kept_bytes, kElements);
    visit.whole("kernels", scores.kernels, 0, kMaxScoreKernels);
    visit.whole("group", scores.group, 0, kMaxScoreKernels);
    visit.whole("split_kernels", scores.split_kernels, 0, kMaxScoreKernels);
  });
}

/// Calls `visit` for the fields of a device (see `visit_fields`).
template <class AnyDevice, class Visit>
void visit_device(AnyDevice& device, Visit& visit) {
  visit.text("name", device.name);
  visit.number("memory", device.memory, kQuantity);
  visit.number("memory_bandwidth", device.memory_bandwidth, kQuantity);
  visit.number("launch_overhead", device.launch_overhead, kSeconds);
  visit.number("plain_f32", device.plain_f32, kQuantityOrNone);
  visit.named("peak", device.peak, [&](std::string_view name, auto& peak) { visit.number(name, peak, kQuantity); });
  const auto visit_efficiency = [&](std::string_view name, auto& efficiency) {
    visit.table(name, [&] {
      visit.curve("flops", efficiency.flops);
      visit.curve("bytes", efficiency.bytes);
      visit.number("extra_rows", efficiency.extra_rows, kElements);
      visit.number("extra_columns", efficiency.extra_columns, kElements);
      visit.number("extra_depth", efficiency.extra_depth, kElements);
      visit.curve("columns", efficiency.columns);
    });
  };
  visit.named("efficiency", device.efficiency, visit_efficiency);
  visit.named("op_efficiency", device.op_efficiency, visit_efficiency);
  visit.named("op_factor", device.op_factor,
              [&](std::string_view name, auto& factor) { visit.number(name, factor, kAnyShare); });
  visit.named("measured", device.measured, [&](std::string_view name, auto& calls) { visit.calls(name, calls); });
}

/// Calls `visit` for every field of a cluster, in the order of the file: `number`, `whole`, `flag` and `text` for
/// single values, `numbers`, `texts` and `choices` for lists, `curve` and `calls` for those types, `named` for maps,
/// and `table` and `tables` for fields with a heading of their own.
template <class AnyCluster, class Visit>
void visit_fields(AnyCluster& cluster, Visit& visit) {
  visit.text("name", cluster.name);
  visit.number("reserve_memory", cluster.reserve_memory, kQuantityOrNone);
  visit.whole("cores", cluster.cores, 0, int64_t{1} << 20);
  visit.number("memory_bus", cluster.memory_bus, kQuantityOrNone);
  visit.number("thread_share", cluster.thread_share, kShare);
  visit.curve("thread_shares", cluster.thread_shares);
  visit.number("busy_share", cluster.busy_share, kShare);
  visit.texts("fitted", cluster.fitted);
  visit.table("device", [&] { visit_device(cluster.device, visit); });
  visit.table("software", [&] { visit_software(cluster.software, visit); });
  visit.tables("protocol", cluster.protocols, [&](auto& protocol) {
    visit.text("name", protocol.name);
    visit.number("overhead", protocol.overhead, kSeconds);
    visit.number("bandwidth_share", protocol.bandwidth_share, kShare);
    visit.number("most_bandwidth", protocol.max_bandwidth, kQuantityOrNone);
  });
  visit.tables("level", cluster.levels, [&](auto& level) {
    visit.text("name", level.name);
    visit.whole("size", level.size, 1, int64_t{1} << 20);
    visit.number("bandwidth", level.bandwidth, kQuantity);
    visit.whole("links", level.links, 1, int64_t{1} << 20);
    visit.numbers("latency", level.latency, kSeconds);
    visit.numbers("tree_latency", level.tree_latency, kSeconds);
    visit.number("total_bandwidth", level.total_bandwidth, kQuantityOrNone);
    visit.number("reduce_bandwidth", level.reduce_bandwidth, kQuantityOrNone);
    visit.number("copy_bandwidth", level.copy_bandwidth, kQuantityOrNone);
    visit.numbers("share_by_members", level.share_by_members, kShare);
  });
}

/// A fault of a cluster; `key` is a path such as "level[1].bandwidth".
struct ClusterFault {
  std::string key, what, got, expected;
};
/// Returns the first fault of a cluster: of a field, in the order of `visit_fields`, else of fields that do not fit
/// each other; none if it is valid.
std::optional<ClusterFault> first_fault(const Cluster& cluster);

}  // namespace partita
