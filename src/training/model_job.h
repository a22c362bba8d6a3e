#pragma once
// What all calls of a model share: its network, its configuration, and where it runs.

#include <functional>
#include <optional>
#include <string>

#include "job/program.h"
#include "runtime/comm/communicator.h"
#include "runtime/launch/place.h"
#include "training/evaluation.h"

namespace partita {

struct ModelJob {
  Network network;
  JobConfig config;  // completed
  Place place;
  Communicator* world = nullptr;  // of processes; none: ranks are threads
  std::function<void(const std::string&)> warn;
  std::function<void(const std::string&)> report{};  // of each program of a training
  BuildUpdate own_update{};

  ProgramRequest request(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const;
  /// Makes the program, and warns of what its compilation warns of where it is one of a training.
  Program program(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const;
  /// Throws RuntimeFailure(out_of_memory) when a program does not fit the machine, with so many copies of the states as
  /// a whole, or does not fit between the steps of a training whose states it shares.
  void require_room(const Program& program, int64_t ranks, int64_t copies, const Program* training = nullptr) const;
  RankOptions rank_options() const { return {.threads = config.ranks.threads, .kernels = config.ranks.kernels}; }
  bool writes_files() const { return world == nullptr || world->rank() == 0; }
  /// The label that the network ignores or, where its loss is a function, that of the configuration.
  std::optional<int64_t> ignored_label() const;
};

/// Compiles an evaluation on `rows`, in batches of as many rows as fit where the configuration names no batch.
/// `training`: whose states it shares. Throws RuntimeFailure(out_of_memory) when it does not fit.
Evaluation make_evaluation(const ModelJob& job, const DatasetPtr& rows, const Program* training = nullptr);

}  // namespace partita
