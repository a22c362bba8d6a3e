#pragma once
// The one pipeline from a configuration, a network and the columns it reads to what every rank runs.

#include "compiler/compile.h"
#include "frontend/network/build_graph.h"
#include "job/config.h"

namespace partita {

struct ProgramRequest {
  const Network& network;
  std::vector<Column> columns;  // of the rows
  int64_t batch = 1;            // rows of the global batch
  int64_t ranks = 1;
  Purpose purpose = Purpose::training;
  Stage last = Stage::schedule;
  bool any_rows = false;  // an evaluation whose batch may be cut unevenly, whatever the mode asks of a batch
  /// Of an evaluation during a training: the training, whose stages and states it shares.
  const Program* training = nullptr;
  /// Of an evaluation: what is computed of a batch, in place of the network with its loss.
  const Graph* graph = nullptr;
  BuildUpdate own_update = nullptr;  // of a training, in place of that of the configuration's optimizer
  bool estimates = false;            // of a training that is not run: its norms may have one value per channel
};

/// A graph that is not made of a network.
struct GraphRequest {
  std::function<Graph()> forward;  // makes it
  int64_t ranks = 1;
  bool training = false;  // with gradients and the updates of the configuration's optimizer
  Stage last = Stage::schedule;
};

/// `config` with the number of stages that the layers of the network say, where it leaves that open.
JobConfig with_stages(JobConfig config, const Network& network, const std::vector<Column>& columns);

/// The network with its loss in an evaluation of `request.batch` rows.
Graph build_evaluation(const JobConfig& config, const ProgramRequest& request);

/// Of the network that a training has, as plans name it.
NetworkFingerprint network_fingerprint(const JobConfig& config, const ProgramRequest& request);

/// Commands, trainings, evaluations, benchmarks and examples make programs by these two alone. `config` is completed.
/// Only a training is dumped. An evaluation has the stages and the mode of a training and runs a batch as a whole; a
/// prediction has neither stages nor micro-batches.
Program make_program(const JobConfig& config, const ProgramRequest& request);
/// Makes the program of a graph under the parts of a completed configuration that do not belong to a network.
Program make_program(const JobConfig& config, const GraphRequest& request);

}  // namespace partita
