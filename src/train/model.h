#pragma once
// A network with its loss and optimizer, trained on any number of ranks of this process.

#include "autodiff/optimizer.h"
#include "comm/communicator.h"
#include "compile.h"
#include "data/dataset.h"
#include "network/network.h"
#include "train/callbacks.h"
#include "train/lr_schedule.h"
#include "train/states.h"

namespace partita {

struct ModelOptions {
  int ranks = 1;
  std::string parallel = "none";
  int threads = 1;         // compute threads per rank
  int64_t batch = 32;      // global
  int64_t eval_batch = 0;  // most rows of a batch of an evaluation; 0: `batch`, and no fewer than 256
  uint64_t seed = 1;
  DType dtype = DType::f32;
  bool local_statistics = false;  // batch norm over the rows of each rank
  bool sum_gradients = false;     // over ranks, of the means of each; outside the promise of equal numbers
  KernelSet kernels = KernelSet::fast;
  LrSchedule schedule;  // steps 0: those of the training
  PassOptions passes;
  std::function<void(const std::string&)> warn = nullptr;
};

struct Accuracy {
  int64_t correct = 0, samples = 0;
  double value() const { return samples > 0 ? static_cast<double>(correct) / static_cast<double>(samples) : 0; }
};

/// States (parameters, statistics, slots, the step) stay with the model from one call to the next.
class Model {
 public:
  Model(Network network, std::string loss, OptimizerOptions optimizer, ModelOptions options);

  /// Rows of `dataset` are in the order of training already; a last partial batch is left out. Ends
  /// after `most_steps` steps when given. Callbacks are called on rank 0. Throws
  /// RuntimeFailure(non_finite) before the update when a loss is not finite, and at the end when a weight is not.
  void train(const DatasetPtr& dataset, int64_t epochs, const std::vector<Callback*>& callbacks = {},
             int64_t most_steps = 0);
  /// Over every row, a last partial batch too.
  Accuracy eval(const DatasetPtr& dataset);
  /// The logits of a batch of inputs, computed by one rank; `name` is that of the network's input.
  Array predict(const Array& inputs, const std::string& name = "image");
  /// The same for many batches of one type: compiled once, with the weights of now.
  std::function<Array(const Array&)> predictor(const Type& inputs, const std::string& name = "image");

  /// Takes effect, and is checked, when the next call makes the states.
  void load(const std::string& path);
  void save(const std::string& path) const;

 private:
  struct Rank;

  Program make_program(const Column& input, const Type& label, int64_t batch, int ranks, bool training) const;
  void prepare_states(const Graph& graph);
  void on_ranks(int ranks, const std::function<void(Communicator&)>& fn) const;
  void check_training(const Dataset& dataset) const;
  int64_t count_correct_rows(const DatasetPtr& dataset, int64_t batch, int ranks);

  Network network_;
  std::string loss_;
  OptimizerOptions optimizer_;
  ModelOptions options_;
  States states_;
  std::vector<std::string> weight_names_;
  std::string loaded_path_;
};

}  // namespace partita
