#pragma once
// What the commands that run a model share: flags, the recipe behind them, and programs made of both.

#include <CLI/CLI.hpp>
#include <optional>

#include "cli/console.h"
#include "cli/datasets.h"
#include "cli/plan_flags.h"
#include "network/build_graph.h"
#include "train/model.h"
#include "zoo/zoo.h"

namespace partita {

/// Flags that were not given stay empty: the recipe of the model decides.
struct JobFlags {
  std::string model;
  std::string data;
  int64_t ranks = 1;
  PlanFlags split;
  std::string batch;  // "": the recipe's
  std::optional<int64_t> resize;
  std::string dtype = "f32";
  int64_t threads = 0;
  std::string seed = "1";
  std::string kernels = "fast";
  std::string load;
  std::string console = "first", log_dir;
};

/// From what was given as --batch and --seed.
int64_t batch_of(const std::string& text);
uint64_t seed_of(const std::string& text);

/// Adds the flags of JobFlags to a command.
void add_job_flags(CLI::App& command, JobFlags& flags);

/// A model with its recipe, and the flags in their final form.
struct Job {
  explicit Job(const JobFlags& flags);
  /// To be called before anything is printed: may start the program anew (see wait_passively), then joins the other
  /// processes, if any.
  void settle();
  /// Says so when the rows are generated because no data were given.
  DatasetPtr dataset(Split split, const std::string& use) const;
  /// The rows of an accuracy after a training; none, with a warning, when the data come without a test set.
  DatasetPtr test_set() const;

  std::shared_ptr<const Network> network;
  Recipe recipe;
  DataSpec data;
  DatasetOptions rows;
  ModelOptions options;
  std::unique_ptr<Communicator> world;  // when a launcher started this process as one of several
  std::unique_ptr<Console> console;
  bool generated = false;  // no data were given
  int ranks_here = 1;      // on this host
  bool all_speak = false;  // on the console
  std::string log_dir;
};

/// The program of one rank of `graph` under the modes in `options`.
Program compile_on_ranks(const Graph& graph, int ranks, const CompileOptions& options);

/// The forward graph of a model, at its recipe's batch unless `batch` is positive.
Graph model_graph(const std::string& model, int64_t batch, int ranks, bool training);

}  // namespace partita
