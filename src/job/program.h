#pragma once
// The pipeline from a configuration, a network and its input columns to the program of every rank.

#include "compiler/compile.h"
#include "frontend/network/build_graph.h"
#include "job/config.h"

namespace partita {

struct ProgramRequest {
  const Network& network;
  std::vector<Column> columns;  // columns of the rows
  int64_t batch = 1;            // rows of the global batch
  int64_t ranks = 1;
  Purpose purpose = Purpose::training;
  Stage last = Stage::schedule;
  bool any_rows = false;  // for an evaluation whose batch may be split unevenly under any mode
  /// For an evaluation during a training: the training's program, whose stages and states the evaluation shares. It
  /// reads the averages of parameters that have some.
  const Program* training = nullptr;
  /// For an evaluation: the graph that is run on a batch, in place of the network with its loss.
  const Graph* graph = nullptr;
  BuildUpdate own_update = nullptr;  // for a training: the update, in place of that of the configuration's optimizer
  bool estimates = false;            // for a training that is not run: batch norms may have one value per channel
};

/// A request for the program of a graph that is not built from a network.
struct GraphRequest {
  std::function<Graph()> forward;  // builds the graph
  int64_t ranks = 1;
  bool training = false;     // adds gradients and the updates of the configuration's optimizer
  bool is_finished = false;  // the graph has its gradients and its 16-bit values: nothing is rounded
  Stage last = Stage::schedule;
};

/// Returns `config` with the number of pipeline stages set. If the configuration leaves it open, it is the number that
/// the network's layers and the stage annotations use; `columns` are those of the rows. Throws InvalidArgument if it is
/// open and the network cannot be built or an annotation names a layer that does not exist.
JobConfig with_stages(JobConfig config, const Network& network, const std::vector<Column>& columns);

/// Returns the forward graph of the network with its loss, for an evaluation of `request.batch` rows. Throws
/// InvalidArgument if it cannot be built (`build_graph`).
Graph build_evaluation(const JobConfig& config, const ProgramRequest& request);

/// Returns the fingerprint of the request's network at the training's batch, by which plans identify it. Throws
/// InvalidArgument if the network cannot be built (`build_graph`).
NetworkFingerprint network_fingerprint(const JobConfig& config, const ProgramRequest& request);

/// Compiles the program of a training, an evaluation or a prediction under a completed configuration. Commands,
/// trainings, evaluations, benchmarks and examples compile programs only by this function and the next. An evaluation
/// has the stages and the mode of the training and runs a batch as a whole. A prediction has neither stages nor
/// micro-batches. Only programs of trainings are dumped. Throws InvalidArgument for a network that cannot be built, for
/// options, annotations and plans that the network or the ranks do not allow, and for an OMP_THREAD_LIMIT below the
/// threads; RuntimeFailure(cannot_write) if a dump fails, and ThreadFailures.
Program make_program(const JobConfig& config, const ProgramRequest& request);
/// Compiles the program of a graph, under those parts of a completed configuration that do not depend on a network.
/// Throws what `request.forward` throws, InvalidArgument for options that the graph or the ranks do not allow and an
/// OMP_THREAD_LIMIT below the threads, and ThreadFailures.
Program make_program(const JobConfig& config, const GraphRequest& request);

}  // namespace partita
