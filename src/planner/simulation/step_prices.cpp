#include "planner/simulation/step_prices.h"

#include <algorithm>
#include <cmath>

#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"
#include "ir/work/node_work.h"
#include "planner/cluster/collective_seconds.h"

namespace partita {
namespace {

Work copy_of_bytes(std::string op, double bytes) {
  return {.kind = WorkKind::copy, .bytes = 2 * bytes, .op = std::move(op)};
}

double bytes_of(const std::vector<int>& buffers, const Schedule& schedule) {
  double bytes = 0;
  for (const int buffer : buffers) bytes += static_cast<double>(schedule.buffers[static_cast<size_t>(buffer)].bytes);
  return bytes;
}

/// The speed of a rank with some threads, while nothing else runs.
struct RankSpeed {
  const Cluster& cluster;
  double threads = 1;

  double seconds(const Work& work) const {
    const double alone = seconds_of(work, cluster.device);
    if (threads <= 1 || alone <= 0) return alone;
    const double share = cluster.thread_shares.empty() ? cluster.thread_share : share_at(cluster.thread_shares, alone);
    return alone / (1 + share * (threads - 1));
  }
};

/// Prices the instructions of one stage.
class StagePricing {
 public:
  StagePricing(const StageProgram& stage, const OpSet& ops, const Cluster& cluster, const RankSpeed& speed,
               int64_t first_rank)
      : local_(stage.local),
        schedule_(stage.schedule),
        cluster_(cluster),
        speed_(speed),
        first_rank_(first_rank),
        rules_(stage.local.graph, ops) {}

  std::vector<double> seconds() {
    std::vector<double> all;
    for (const Instruction& instruction : schedule_.instructions) all.push_back(seconds_of_one(instruction));
    return all;
  }

 private:
  double seconds_of_one(const Instruction& instruction) {
    switch (instruction.kind) {
      case Instruction::wait: return 0;
      case Instruction::reduce: {
        const Axes& axes = schedule_.buckets[static_cast<size_t>(instruction.bucket)].axes;
        return bucket(instruction) + skew(place(axes));
      }
      case Instruction::start: return instruction.bucket >= 0 ? bucket(instruction) : collective(instruction);
      case Instruction::collective: return collective(instruction);
      default: return speed_.seconds(instruction_work(instruction, local_, schedule_, rules_));
    }
  }

  /// Seconds that the ranks of a collective wait for each other. If ranks share cores, at most as many ranks as cores
  /// count.
  double skew(const GroupPlace& place) const {
    const int64_t others = (cluster_.cores > 0 ? std::min(place.ranks, cluster_.cores) : place.ranks) - 1;
    return cluster_.software.rank_skew * static_cast<double>(std::max<int64_t>(0, others));
  }

  /// Seconds in which f32 of these bytes are rounded to 16 bits, or the other way round: as a copy of 6 bytes for
  /// each 8.
  double seconds_of_rounding(int64_t bytes) const {
    return speed_.seconds(copy_of_bytes("copy", 0.75 * static_cast<double>(bytes)));
  }

  double bucket(const Instruction& instruction) {
    const Bucket& bucket = schedule_.buckets[static_cast<size_t>(instruction.bucket)];
    const auto bytes = static_cast<double>(wire_bytes(bucket.bytes, bucket.dtype, bucket.wire));
    const double rounding = bucket.wire ? seconds_of_rounding(2 * bucket.bytes) : 0;
    const DType sent = bucket.wire.value_or(bucket.dtype);
    return rounding + seconds_of(Collective::all_reduce, bytes, place(bucket.axes), cluster_, sent);
  }

  double collective(const Instruction& instruction) {
    const Node& node = local_.graph.nodes[static_cast<size_t>(instruction.node)];
    const Collective kind = *collective_of(node);
    if (is_local(kind)) return speed_.seconds(instruction_work(instruction, local_, schedule_, rules_));
    const ValueId whole = kind == Collective::all_gather ? node.outputs[0] : node.inputs[0];
    const Staging staging = largest_staging(local_, instruction.node);
    const bool rounds = node.attrs.as<CollectiveAttrs>().wire.has_value();
    const double packing =
        rounds ? seconds_of_rounding(local_.largest(node.inputs[0]).bytes() + local_.largest(node.outputs[0]).bytes())
               : speed_.seconds(copy_of_bytes("copy", static_cast<double>(staging.send + staging.receive)));
    const GroupPlace& where = place(axes_of(node, local_.mesh));
    const Type type = local_.largest(whole);
    const std::optional<DType> wire = node.attrs.as<CollectiveAttrs>().wire;
    const auto bytes = static_cast<double>(wire_bytes(type.bytes(), type.dtype, wire));
    return packing + skew(where) + seconds_of(kind, bytes, where, cluster_, wire.value_or(type.dtype));
  }

  const GroupPlace& place(const Axes& axes) {
    const auto [entry, fresh] = places_.try_emplace(axes);
    if (fresh) entry->second = place_of(local_.mesh, axes, first_rank_, cluster_);
    return entry->second;
  }

  const LocalGraph& local_;
  const Schedule& schedule_;
  const Cluster& cluster_;
  const RankSpeed& speed_;
  const int64_t first_rank_;
  const Rules rules_;
  std::map<Axes, GroupPlace> places_;
};

TransferPrice price_of(const Transfer& transfer, const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                       const Cluster& cluster, const RankSpeed& speed) {
  if (transfer.verdict) return {};
  const StageProgram& to = stages[static_cast<size_t>(transfer.to_stage)];
  const RankGroup &sender = pipeline.group_of(transfer.from_stage), &receiver = pipeline.group_of(transfer.to_stage);
  const double bytes = static_cast<double>(to.local.largest(to.local.graph.inputs[transfer.input].value).bytes());
  // The receivers' values are sent once, split among the senders.
  const double sent = bytes * receiver.count / sender.count;
  const double copying = speed.seconds(copy_of_bytes("copy", sent));
  if (cluster.cores > 0 || sender == receiver) {
    return {.send = copying, .receive = speed.seconds(copy_of_bytes("copy", bytes))};
  }
  const GroupPlace place = place_between(sender.first, receiver.first, std::min(sender.count, receiver.count), cluster);
  return {.message = seconds_of(Collective::send, std::max(sent, bytes), place, cluster)};
}

}  // namespace

Work instruction_work(const Instruction& instruction, const LocalGraph& local, const Schedule& schedule,
                      const Rules& rules) {
  const auto n = static_cast<size_t>(instruction.node);
  switch (instruction.kind) {
    case Instruction::compute: {
      if (instruction.choice.view) return {};
      return work_of(local.graph, rules, n, local.cuts[n], local.shardings, local.mesh);
    }
    case Instruction::reorder: return copy_of_bytes("reorder", bytes_of(instruction.outputs, schedule));
    case Instruction::copy:
    case Instruction::load: return copy_of_bytes("copy", bytes_of(instruction.outputs, schedule));
    case Instruction::accumulate:
      return {.kind = WorkKind::pointwise, .bytes = 3 * bytes_of(instruction.outputs, schedule), .op = "add"};
    case Instruction::collective: {
      const double bytes = std::min(bytes_of(instruction.inputs, schedule), bytes_of(instruction.outputs, schedule));
      const bool copies = is_local(*collective_of(local.graph.nodes[n]));
      return copies ? copy_of_bytes("copy", bytes) : Work{};
    }
    default: return {};
  }
}

StepPrices prices_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops,
                     const Cluster& given, int threads) {
  const Cluster cluster = resized(given, pipeline.ranks());
  StepPrices prices{.overhead = cluster.overhead_of_step(pipeline.ranks()),
                    .overlap_slowdown = cluster.software.overlap_slowdown,
                    .cores = static_cast<double>(cluster.cores)};
  if (cluster.cores > 0) {
    const int64_t share = std::max<int64_t>(1, cluster.cores / pipeline.ranks());
    prices.rank_threads = static_cast<double>(threads > 0 ? threads : share);
    prices.busy_share = pipeline.ranks() > 1 ? cluster.busy_share : 1;  // for one rank, thread shares include it
  }
  const RankSpeed speed{cluster, prices.rank_threads};
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const int64_t first = pipeline.group_of(static_cast<int>(stage)).first;
    prices.instructions.push_back(StagePricing(stages[stage], ops, cluster, speed, first).seconds());
  }
  for (const Transfer& transfer : pipeline.transfers) {
    prices.transfers.push_back(price_of(transfer, pipeline, stages, cluster, speed));
  }
  if (stages.size() > 1 && pipeline.ranks() > 1) {
    constexpr double kBytes = 64;  // a few numbers of each rank
    const Mesh all = Mesh::undivided({{"ranks", pipeline.ranks()}});
    Axes axes;
    for (int axis = 0; axis < static_cast<int>(all.axes().size()); ++axis) axes.push_back(axis);
    prices.verdict = seconds_of(Collective::all_gather, kBytes * static_cast<double>(pipeline.ranks()),
                                place_of(all, axes, 0, cluster), cluster);
  }
  return prices;
}

}  // namespace partita
