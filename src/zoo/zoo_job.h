#pragma once
// A model of the zoo under a configuration: its network, its rows, its programs.

#include "job/job_rows.h"
#include "job/options.h"
#include "job/program.h"
#include "zoo/zoo.h"

namespace partita {

/// The recipe of the model, changed by what was said; "model" itself is not to be among it.
JobConfig configured(const std::string& model, const std::vector<Assignment>& assignments);

class ZooJob {
 public:
  /// Completes the configuration. Throws InvalidArgument as `completed` does, and for data that the model does not
  /// read.
  ZooJob(const JobConfig& config, const Place& place);

  const JobConfig& config() const { return config_; }
  const ZooModel& model() const { return model_; }
  const Network& network() const { return network_; }

  const JobRows& data() const { return rows_; }
  DatasetPtr rows(Split split) const { return rows_.rows(split); }
  /// Of these rows; without reading them where the source's kind says it.
  std::vector<Column> columns() const;

  /// What the ranks would run, up to a stage: the same that Model makes of this configuration and these columns.
  Program program(Purpose purpose, Stage last = Stage::schedule) const;

 private:
  ZooModel model_;
  JobConfig config_;
  Network network_;
  JobRows rows_;
};

}  // namespace partita
