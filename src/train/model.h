#pragma once
// A network with its loss and optimizer, trained on any number of ranks.

#include "autodiff/optimizer.h"
#include "comm/communicator.h"
#include "compile.h"
#include "data/dataset.h"
#include "graph/mark_nodes.h"
#include "network/network.h"
#include "train/agreement.h"
#include "train/callbacks.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/lr_schedule.h"
#include "train/states.h"

namespace partita {

struct TrainingRun;

struct ModelOptions {
  int ranks = 1;
  /// Ranks that are processes, `ranks` of them, of which this is one; none: threads of this process. Outlives the
  /// model.
  Communicator* world = nullptr;
  PlanOptions plan;
  std::vector<NodeMark> marks;  // beside those of the network
  int threads = 1;              // compute threads per rank
  int64_t batch = 32;           // global
  int64_t eval_batch = 0;       // most rows of a batch of an evaluation; 0: `batch`, and no fewer than 256
  uint64_t seed = 1;
  DType dtype = DType::f32;
  bool local_statistics = false;  // batch norm over the rows of each rank
  bool sum_gradients = false;     // over ranks, of the means of each; outside the promise of equal numbers
  KernelSet kernels = KernelSet::fast;
  LrSchedule schedule;  // steps 0: those of the training
  PassOptions passes;
  std::function<void(const std::string&)> warn = nullptr;
};

/// How a training goes on and what watches it.
struct FitOptions {
  int64_t epochs = 1;
  int64_t most_steps = 0;              // ends after so many in all; 0: after the epochs
  DatasetPtr validation = nullptr;     // evaluated after every epoch when given
  std::vector<Callback*> callbacks{};  // called on rank 0; of processes on each, but only rank 0's may ask for anything
};

/// States (parameters, statistics, slots, the step) stay with the model from one call to the next.
class Model {
 public:
  Model(Network network, std::string loss, OptimizerOptions optimizer, ModelOptions options);

  /// Rows of `dataset` are in the order of training already; a last partial batch is left out. After `resume` the
  /// steps of the checkpoint count as taken. Throws RuntimeFailure(non_finite) before the update when a loss is not
  /// finite, and at the end when a weight is not.
  void train(const DatasetPtr& dataset, const FitOptions& fit);
  /// Over every row, a last partial batch too; `top` is that of Metrics::correct_in_top. Throws
  /// RuntimeFailure(non_finite) when the loss or a logit is not finite.
  Metrics eval(const DatasetPtr& dataset, int64_t top = 5);
  /// The logits of a batch of inputs, computed by one rank; `name` is that of the network's input.
  Array predict(const Array& inputs, const std::string& name = "image");
  /// The same for many batches of one type: compiled once, with the weights of now. For one thread at a time.
  std::function<Array(const Array&)> predictor(const Type& inputs, const std::string& name = "image");

  /// Takes effect, and is checked, when the next call makes the states.
  void load(const std::string& path);
  void save(const std::string& path) const;
  /// Goes on from a checkpoint, which the next training reads and checks: it must have the same batch, seed and
  /// number of rows. What callbacks keep, as the best loss of EarlyStopping, begins anew.
  void resume(const std::string& path) { resumed_path_ = path; }
  /// All states after the last training, as CheckpointSaver writes them while it runs.
  void save_checkpoint(const std::string& path) const;

 private:
  Program make_program(const Column& input, const Type& label, int64_t batch, int ranks, bool training) const;
  void prepare_states(const Graph& graph);
  Facts facts_of(const Program& program, const DatasetPtr& rows, int64_t batch) const;
  Facts facts_of(const TrainingRun& run, const FitOptions& fit) const;
  bool writes_files() const { return options_.world == nullptr || options_.world->rank() == 0; }
  void on_ranks(int ranks, const std::function<void(Communicator&)>& fn) const;
  void check_training(const Dataset& dataset, const FitOptions& fit) const;
  Evaluation make_evaluation(const DatasetPtr& dataset, int64_t top) const;
  RankOptions rank_options() const { return {.threads = options_.threads, .kernels = options_.kernels}; }

  Network network_;
  std::string loss_;
  OptimizerOptions optimizer_;
  ModelOptions options_;
  States states_;
  std::vector<std::string> weight_names_;
  std::string loaded_path_, resumed_path_;
  TrainingPosition position_;  // after the last training
};

}  // namespace partita
