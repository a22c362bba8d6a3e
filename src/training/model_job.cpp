#include "training/model_job.h"

#include <algorithm>

#include "ir/ops/registry.h"
#include "job/program.h"
#include "runtime/launch/refusal.h"
#include "training/evaluation.h"
#include "training/memory.h"
#include "training/table_limits.h"

namespace partita {
namespace {

constexpr int64_t kLargeEvaluationBatch = 256;     // rows, if no batch is configured
constexpr int64_t kFreeBytes = int64_t{32} << 20;  // available to an evaluation on each rank

/// Returns the types of the states of a graph, by name. They may depend on the batch, since a network may hold arrays
/// with as many rows.
std::map<std::string, Type> state_types(const Graph& graph) {
  std::map<std::string, Type> types;
  for (const State& state : graph.states) types.emplace(graph.name_of(state), graph.type(state.entry));
  return types;
}

/// Returns the largest bytes of a rank while a program of the evaluation runs, the states included. The states are
/// those of `training`, or the evaluation's own if `training` is null.
int64_t largest_arena_of(const Evaluation& evaluation, const Program* training) {
  int64_t bytes = 0;
  for (const Program* program : evaluation.programs()) {
    bytes = std::max(bytes,
                     training != nullptr ? largest_arena_between_steps(*training, *program) : largest_arena(*program));
  }
  return bytes;
}

/// Compiles an evaluation in batches of at most `max_rows` rows, whether or not it fits the memory. `training`: the
/// program whose states it shares, or null. Throws InvalidArgument if the network or the configuration does not fit the
/// rows, there are none, or OMP_THREAD_LIMIT is below the threads, and ThreadFailures.
Evaluation make_in_batches(const ModelJob& job, const DatasetPtr& dataset, const Program* training, int64_t max_rows) {
  const EvaluationOptions evaluation{.ranks = job.config.ranks.count,
                                     .max_rows = max_rows,
                                     .top = job.config.evaluation.top,
                                     .metrics = {.names = job.config.evaluation.metrics,
                                                 .own = job.own_metrics,
                                                 .is_multilabel = job.network.loss_kind() == Loss::binary},
                                     .ignored_label = job.ignored_label()};
  ProgramRequest part = job.request(dataset->columns(), 1, job.config.ranks.count, Purpose::evaluation);
  part.training = training;
  const auto build = [&](int64_t rows) {
    part.batch = rows;
    return build_evaluation(job.config, part);
  };
  const auto compile = [&](const Graph& of_batch, int64_t rows) {
    part.batch = rows;
    part.graph = &of_batch;
    return make_program(job.config, part);
  };
  return Evaluation(dataset, evaluation, {.build = build, .compile = compile});
}

/// Compiles an evaluation in batches of as many rows as fit into the memory of `training` or, if that is null, into
/// that of a micro-batch or 32 MiB, whichever is more. Batches have at most kLargeEvaluationBatch rows unless a
/// micro-batch has more. If the network needs all rows at once, they are one batch of at most that size. Throws as
/// `make_in_batches` does.
Evaluation make_fitting(const ModelJob& job, const DatasetPtr& dataset, const Program* training) {
  const int64_t least = std::max<int64_t>(1, job.config.training.batch / job.config.plan.options.micro_batches);
  std::optional<Evaluation> made;
  try {
    made.emplace(make_in_batches(job, dataset, training, least));
  } catch (const InvalidArgument&) {  // the network may need all rows at once
    if (dataset->size() <= least || dataset->size() > kLargeEvaluationBatch) throw;
    try {
      return make_in_batches(job, dataset, training, dataset->size());
    } catch (const std::exception&) {  // nor does it take all rows
    }
    throw;
  }
  if (made->batch() >= std::min(dataset->size(), kLargeEvaluationBatch)) return std::move(*made);
  // A large batch runs faster. It needs no more memory than a training, which holds at least the gradients, too.
  const int64_t states = largest_states(training != nullptr ? *training : made->program());
  const int64_t used = largest_arena_of(*made, training) - states;
  const int64_t room = training != nullptr ? largest_arena(*training) - states : std::max(used, kFreeBytes);
  const int64_t rows = std::min(kLargeEvaluationBatch, room / std::max<int64_t>(1, used / made->batch()));
  if (rows <= made->batch()) return std::move(*made);
  try {
    Evaluation larger = make_in_batches(job, dataset, training, rows);
    const bool has_same_states = state_types(larger.graph()) == state_types(made->graph());
    if (has_same_states && largest_arena_of(larger, training) - states <= room) return larger;
  } catch (const std::exception&) {  // a network may take only the rows of its training
  }
  return std::move(*made);
}

}  // namespace

ProgramRequest ModelJob::request(const std::vector<Column>& columns, int64_t batch, int64_t ranks,
                                 Purpose purpose) const {
  return {.network = network,
          .columns = columns,
          .batch = batch,
          .ranks = ranks,
          .purpose = purpose,
          .any_rows = purpose == Purpose::evaluation,
          .own_update = own_update};
}

Program ModelJob::program(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const {
  Program program =
      telling_refusals(place, [&] { return make_program(config, request(columns, batch, ranks, purpose)); });
  if (purpose == Purpose::training) {  // evaluations would repeat them
    for (const std::string& warning : program.warnings) warn(warning);
  }
  return program;
}

void ModelJob::require_room(const Program& program, int64_t ranks, int64_t copies, const Program* training) const {
  if (config.force) return;
  const int64_t ranks_here = world != nullptr && ranks > 1 ? 1 : ranks;
  require_memory(training != nullptr ? estimate_between_steps(*training, program, ranks_here)
                                     : estimate_memory(program, ranks_here, copies),
                 available_memory());
}

std::optional<int64_t> ModelJob::ignored_label() const {
  const std::optional<int64_t> own = network.loss_options().ignore_index;
  return own ? own : config.training.ignore_index;
}

Evaluation make_evaluation(const ModelJob& job, const DatasetPtr& rows, const Program* training) {
  const int64_t given = job.config.evaluation.batch;
  const auto limits = [&] {
    if (training != nullptr) return table_limits(training->graph, all_ops());
    // The number of rows must be one that the network takes.
    const int64_t batch = std::min(rows->size(), given > 0 ? given : job.config.training.batch);
    return table_limits(build_evaluation(job.config, job.request(rows->columns(), std::max<int64_t>(1, batch),
                                                                 job.config.ranks.count, Purpose::evaluation)),
                        all_ops());
  };
  const DatasetPtr dataset = checked_ids(rows, limits());
  Evaluation made = given > 0 ? make_in_batches(job, dataset, training, given) : make_fitting(job, dataset, training);
  for (const Program* program : made.programs()) {
    // Within a training the ranks hold the states.
    job.require_room(*program, job.config.ranks.count, training != nullptr ? 0 : kCopiesOfStates, training);
  }
  return made;
}

}  // namespace partita
