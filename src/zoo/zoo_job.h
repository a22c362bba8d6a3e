#pragma once
// A model of the zoo under a configuration: network, rows and programs.

#include "job/job_rows.h"
#include "job/options.h"
#include "job/program.h"
#include "zoo/zoo.h"

namespace partita {

/// Returns the recipe of the model, changed by the assignments. `assignments` must not include "model". Steps that are
/// set without epochs set the epochs to 0, so that those of the recipe do not limit them. Throws InvalidArgument for an
/// unknown model, for sizes that it does not take, and for a bad value.
JobConfig configured(const std::string& model, const std::vector<Assignment>& assignments);

class ZooJob {
 public:
  /// Makes the model, completes the configuration for `place`, and prepares the rows without opening them. The label
  /// that does not count is -1 if it is not set and files of tokens have a mask or documents are separate. Throws
  /// InvalidArgument for an unknown model, for sizes that it does not take, for a configuration that `completed`
  /// refuses (bad values, another number of ranks than a launcher started), and for options of [data] that the model
  /// does not use.
  ZooJob(const JobConfig& config, const Place& place);

  const JobConfig& config() const { return config_; }
  const ZooModel& model() const { return model_; }
  const Network& network() const { return network_; }

  const JobRows& data() const { return rows_; }
  DatasetPtr rows(Split split) const { return rows_.rows(split); }
  /// Returns the columns of the rows, floats in the type of the training. Files are opened only for NumPy sources:
  /// throws MissingFile if one is missing, InvalidFile if it is damaged, InvalidArgument if it has no training rows,
  /// RuntimeFailure(out_of_memory) if it does not fit the memory. Throws InvalidArgument if the model does not read
  /// rows of this kind or shape.
  std::vector<Column> columns() const;

  /// Compiles what the ranks would run, up to the stage `last`. Model compiles the same program from this configuration
  /// and these columns. Throws InvalidArgument for a network that cannot be built, for options, annotations and plans
  /// that the network or the ranks do not allow, and for an OMP_THREAD_LIMIT below the threads. Throws
  /// RuntimeFailure(cannot_write) if a dump fails, ThreadFailures, and as `columns` does.
  Program program(Purpose purpose, Stage last = Stage::schedule) const;

 private:
  ZooModel model_;
  JobConfig config_;
  Network network_;
  JobRows rows_;
};

}  // namespace partita
