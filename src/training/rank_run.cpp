#include "training/rank_run.h"

#include <algorithm>
#include <cmath>

#include "compiler/autodiff/training_graph.h"
#include "ir/ops/registry.h"
#include "ir/sharding/micro.h"
#include "runtime/checkpoint/shard_file.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/launch/warn.h"

namespace partita {
namespace {

const std::string& name_of(const Graph& graph, int value) { return graph.values[static_cast<size_t>(value)].name; }

/// A rank's share of the rows of a batch.
struct Share {
  int64_t index = 0, ways = 1;
  bool operator==(const Share&) const = default;
};

std::unique_ptr<Device> device_of(const RankOptions& options, int rank) {
  return make_device(all_ops(), {.name = options.device,
                                 .index = rank,
                                 .threads = options.threads,
                                 .kernels = options.kernels,
                                 .collectives = options.collectives,
                                 .deterministic = options.deterministic,
                                 .memory = options.device_memory,
                                 .warn = warn});
}

}  // namespace

void fill_states(Executor& executor, const FillState& fill) {
  for (const auto& stage : executor.stages()) {
    const Graph& graph = stage->local().graph;
    for (const State& state : graph.states) {
      const std::string& name = name_of(graph, state.entry);
      stage->fill_state(name, [&](const Box& box, DType dtype, void* to) { fill(name, box, dtype, to); });
    }
  }
}

RankRun::RankRun(const Program& program, const RankOptions& options, Communicator& comm)
    : program_(program), comm_(comm), device_(device_of(options, comm.rank())) {
  device_->enter_thread();
  executor_.emplace(program.pipeline, program.stages, all_ops(), *device_, comm);
}

RankRun::RankRun(const Program& program, const States& states, const RankOptions& options, Communicator& comm)
    : RankRun(program, options, comm) {
  for (const State& state : program.graph.states) {
    const std::string& name = name_of(program.graph, state.entry);
    executor_->set_state(name, states.at(name));
  }
}

RankRun::RankRun(const Program& program, const FillState& fill, const RankOptions& options, Communicator& comm)
    : RankRun(program, options, comm) {
  fill_states(*executor_, fill);
}

RankRun::RankRun(const Program& program, const RankRun& holder)
    : program_(program), comm_(holder.comm_), device_(holder.device_) {
  executor_.emplace(program.pipeline, program.stages, all_ops(), *device_, comm_, &*holder.executor_);
}

void RankRun::feed(const Batch& batch) { feed(batch, Step::present); }

std::optional<SeenDevices> RankRun::devices() {
  const Accelerator* accelerator = device_->accelerator();
  if (accelerator == nullptr) return std::nullopt;
  return SeenDevices{accelerator->client().platform(), accelerator->client().devices()};
}

void RankRun::feed_next(const Batch& batch) { feed(batch, Step::next); }

void RankRun::feed(const Batch& batch, Step step) {
  const auto& inputs = program_.graph.inputs;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const std::string& name = batch.columns[i].name;
    const bool read =
        std::ranges::any_of(inputs, [&](const Input& input) { return name_of(program_.graph, input.value) == name; });
    if (read) feed(name, batch.arrays[i].tensor(), step);
  }
}

void RankRun::feed(const std::string& name, ConstTensor rows) { feed(name, rows, Step::present); }

void RankRun::feed(const std::string& name, ConstTensor rows, Step step) {
  for (const auto& stage : executor_->stages()) {
    const auto& inputs = stage->local().graph.inputs;
    const bool reads = std::ranges::any_of(inputs, [&](const Input& input) {
      return input.from_stage < 0 && name_of(stage->local().graph, input.value) == name;
    });
    if (reads) feed(*stage, name, rows, step);
  }
}

void RankRun::feed(StageExecutor& stage, const std::string& name, ConstTensor rows, Step step) {
  const auto set = [&](const Box& part, int64_t micro_batch) {
    if (step == Step::next) return stage.set_next_input(name, rows, part);
    stage.set_input(name, rows, part, micro_batch);
  };
  const LocalGraph& local = stage.local();
  const ValueId value = local.graph.input(name);
  const Type& whole = local.graph.type(value);
  const int64_t micro_batches =
      micro_sharding(local.shardings[value], local.mesh).whole() ? 1 : local.mesh.micro_batches();
  // The batch may hold more of the input than this rank needs: all of it, or this rank's rows of each micro-batch.
  for (int64_t m = 0; m < micro_batches; ++m) {
    std::vector<int64_t> coordinates = stage.coordinates();
    if (micro_batches > 1) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
    Box part = local_ranges(whole, local.shardings[value], local.mesh, coordinates);
    if (micro_batches == 1 && rows.type == local.type(value, coordinates)) {
      part.clear();
      for (const int64_t size : rows.type.shape) part.push_back({0, size, size});
      return set(part, 0);
    }
    const int64_t count = part.empty() ? 0 : part[0].count();
    Type own_rows = whole;
    if (!part.empty()) own_rows.shape[0] = micro_batches * count;
    if (rows.type == own_rows && rows.type != whole) part[0] = {m * count, (m + 1) * count, micro_batches * count};
    if (rows.type != whole && rows.type != own_rows) {
      throw InvalidArgument(ErrorKind::type, "[feed] a batch of '{}' does not fit the network, got {}, expected {}",
                            name, print(rows.type), print(own_rows));
    }
    set(part, m);
  }
}

void RankRun::feed_number(std::string_view where, const std::string& name, double number) {
  const Graph& graph = program_.graph;
  Array value(graph.type(graph.input(name)));
  value.set(0, number);
  if (!std::isfinite(value.at(0))) {
    throw InvalidArgument("[{}] infinite in {}, got {}, expected a number that it can hold", where,
                          name_of(value.type().dtype), number);
  }
  feed(name, value.tensor());
}

void RankRun::feed_learning_rate(double rate) { feed_number("learning rate", "learning_rate", rate); }

void RankRun::feed_loss_scale(double scale) { feed_number("loss scale", std::string(kLossScale), scale); }

Batcher RankRun::rows(const DatasetPtr& dataset, int64_t batch) const {
  std::optional<Share> share;
  bool alike = true;
  for (const auto& stage : executor_->stages()) {
    const LocalGraph& local = stage->local();
    for (const Input& input : local.graph.inputs) {
      if (input.batch_dim != 0) continue;
      const Axes axes = within_micro_batch(local.shardings[input.value], local.mesh).dims[0];
      const Share own{local.mesh.index_on(stage->coordinates(), axes), local.mesh.ways(axes)};
      alike = alike && (!share || *share == own);
      share = own;
    }
  }
  if (!share || !alike) return Batcher(dataset, {.batch = batch});  // feed() selects the needed rows
  return Batcher(dataset, {.batch = batch,
                           .rank = share->index,
                           .ranks = share->ways,
                           .micro_batches = executor_->stages().front()->local().mesh.micro_batches()});
}

bool RankRun::reads_rows() const {
  const auto& stages = executor_->stages();
  return std::ranges::any_of(stages, [](const auto& stage) {
    const auto& inputs = stage->local().graph.inputs;
    return std::ranges::any_of(inputs, [](const Input& input) { return input.from_stage < 0 && input.batch_dim >= 0; });
  });
}

States RankRun::states_on_first() const {
  States states;
  for (const State& state : program_.graph.states) {
    const std::string& name = name_of(program_.graph, state.entry);
    if (std::optional<Array> whole = executor_->state_on_first(name)) states.emplace(name, std::move(*whole));
  }
  return states;
}

StateParts RankRun::own_parts() const {
  StateParts parts;
  for (const auto& stage : executor_->stages()) {
    const Graph& graph = stage->local().graph;
    for (const State& state : graph.states) {
      const std::string& name = name_of(graph, state.entry);
      StatePart part = stage->state_part(name);
      const bool is_new = parts.values.emplace(name, std::move(part.values)).second;
      if (is_new && !part.box.empty()) parts.boxes[kBoxOf + name] = print_box(part.box);
    }
  }
  return parts;
}

States RankRun::states() const {
  States states;
  for (const State& state : program_.graph.states) {
    const std::string& name = name_of(program_.graph, state.entry);
    states.emplace(name, executor_->state(name));
  }
  return states;
}

}  // namespace partita
