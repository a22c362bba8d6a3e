#pragma once
// A graph that a function builds and that is run call by call, for training loops other than Model::train.

#include <functional>

#include "frontend/network/layer.h"
#include "job/program.h"
#include "runtime/launch/place.h"
#include "training/rank_run.h"

namespace partita {

class Stepper {
 public:
  using NamedArrays = std::vector<std::pair<std::string, Array>>;
  /// Adds inputs, nodes, states and outputs to the builder of the context, which is one of a training. The function
  /// must add gradients and updates itself.
  using Build = std::function<void(Context&)>;

  /// Compiles the graph of `build`, on one rank of this thread or, if a launcher started several processes, on these.
  /// Every process then makes the same stepper and makes the same calls at the same time; inputs with a batch are its
  /// own rows. `initial` is called once the graph is compiled. It returns values of states; other states begin with
  /// their initializers. Counters that no node writes count the calls of `run`. Throws what `build` and `initial`
  /// throw; InvalidArgument if the configuration is refused (`completed`) or does not fit the graph, there is no
  /// output, a batch norm has only one value per channel, a value has another type than its state, or OMP_THREAD_LIMIT
  /// is below the threads; RuntimeFailure(out_of_memory) without memory or threads, RuntimeFailure(ranks_disagree) if
  /// processes that communicate differ, and RuntimeFailure if the processes do not find one another. Batch norms have
  /// statistics of `statistics_groups` groups of rows.
  Stepper(const JobConfig& config, const Place& place, const Build& build, const std::function<States()>& initial,
          int64_t statistics_groups = 1);

  const Graph& graph() const { return program_.graph; }
  const std::vector<std::string>& warnings() const { return program_.warnings; }

  /// Runs the graph once and returns this rank's part of each output, in order. `inputs` has a value for each input;
  /// values of other names are ignored. Throws InvalidArgument if the value of an input is missing or does not fit, or
  /// a label or an id is out of range, RuntimeFailure if another process fails, and RuntimeFailure(out_of_memory)
  /// without memory.
  std::vector<Array> run(const NamedArrays& inputs);

  /// Returns the whole values of a state. Collective over processes. Throws InvalidArgument for an unknown name,
  /// RuntimeFailure if another process fails.
  Array state(const std::string& name) const { return rank_->executor().state(name); }
  /// Sets the whole values of a state. Throws InvalidArgument for an unknown name or another type.
  void set_state(const std::string& name, const Array& whole);

 private:
  Program program_;
  std::vector<std::unique_ptr<Communicator>> own_world_;
  Communicator* world_ = nullptr;
  mutable std::optional<RankRun> rank_;
};

}  // namespace partita
