#pragma once
// The parts that all calls of a model share: its network, its configuration, and where it runs.

#include <functional>
#include <optional>
#include <string>

#include "compiler/autodiff/optimizer.h"
#include "frontend/data/dataset.h"
#include "frontend/network/build_graph.h"
#include "job/config.h"
#include "job/rank_options.h"
#include "runtime/launch/place.h"
#include "training/report/row_metrics.h"

namespace partita {

class Evaluation;
struct Program;
struct ProgramRequest;

struct ModelJob {
  Network network;
  JobConfig config;  // completed
  Place place;
  Communicator* world = nullptr;  // communicator of processes; null: ranks are threads
  std::function<void(const std::string&)> warn;
  std::function<void(const std::string&)> report{};  // receives a description of each training program
  BuildUpdate own_update{};
  std::string own_update_name{};  // names the update in checkpoints
  std::vector<OwnMetric> own_metrics{};

  ProgramRequest request(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const;
  /// Compiles a program. Passes warnings of the compilation to `warn`, for a training only. Throws InvalidArgument if
  /// the network or the configuration does not fit the columns, the batch or the ranks, or OMP_THREAD_LIMIT is below
  /// the threads; RuntimeFailure(cannot_write) if a dump fails, ThreadFailures, and what `warn` throws.
  Program program(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const;
  /// Checks that a program of `ranks` ranks fits the available memory next to `copies` copies of the whole states. With
  /// `training`, checks that it fits, without copies, between the steps of that training, whose states it shares. With
  /// `config.force`, checks nothing. Throws RuntimeFailure(out_of_memory) if it does not fit.
  void require_room(const Program& program, int64_t ranks, int64_t copies, const Program* training = nullptr) const;
  RankOptions rank_options() const { return rank_options_of(config.ranks); }
  bool writes_files() const { return world == nullptr || world->rank() == 0; }
  /// Returns the label that the network's loss ignores, or that of the configuration if the loss names none; none if
  /// neither does.
  std::optional<int64_t> ignored_label() const;
};

/// Compiles an evaluation on `rows`. Without a batch in the configuration, batches have as many rows as fit.
/// `training`: the program whose states it shares; null: it has its own. Throws InvalidArgument if the network or the
/// configuration does not fit the rows, there are none, or OMP_THREAD_LIMIT is below the threads, and
/// RuntimeFailure(out_of_memory) as `require_room` does or if the compute threads cannot be started. For an id outside
/// the table that it looks up, throws InvalidFile if the id is in a file, else InvalidArgument: at once if rows are in
/// memory, else when they are read.
Evaluation make_evaluation(const ModelJob& job, const DatasetPtr& rows, const Program* training = nullptr);

}  // namespace partita
