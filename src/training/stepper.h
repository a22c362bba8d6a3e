#pragma once
// A graph that a function builds, run call by call: for loops of one's own, where Model::train is not to have them.

#include <functional>

#include "frontend/network/layer.h"
#include "job/program.h"
#include "runtime/launch/place.h"
#include "training/rank_run.h"

namespace partita {

class Stepper {
 public:
  using NamedArrays = std::vector<std::pair<std::string, Array>>;
  /// Adds inputs, nodes, states and outputs to the builder of the context, which is one of a training. Gradients and
  /// updates are nodes that it adds itself.
  using Build = std::function<void(Context&)>;

  /// Compiles what `build` made, on one rank of this thread or, when a launcher started several processes, on these:
  /// then every process makes the same stepper and calls it at the same time, and inputs with a batch are its own rows.
  /// States begin as `initial` says, which is called when the graph is built, or as their initializers do. Throws as
  /// compilation does, and InvalidArgument when a value is of another type than its state.
  Stepper(const JobConfig& config, const Place& place, const Build& build, const std::function<States()>& initial);

  const Graph& graph() const { return program_.graph; }
  const std::vector<std::string>& warnings() const { return program_.warnings; }

  /// This rank's part of each output, in their order. `inputs` has a value for each input; throws InvalidArgument when
  /// one is missing or does not fit.
  std::vector<Array> run(const NamedArrays& inputs);

  /// The whole of a state; collective over processes.
  Array state(const std::string& name) const { return rank_->executor().state(name); }
  void set_state(const std::string& name, const Array& whole);

 private:
  Program program_;
  std::vector<std::unique_ptr<Communicator>> own_world_;
  Communicator* world_ = nullptr;
  mutable std::optional<RankRun> rank_;
};

}  // namespace partita
