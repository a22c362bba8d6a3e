#pragma once
// A job on one rank whose steps a test runs itself.

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/ops/registry.h"
#include "ir/sharding/box_runs.h"
#include "runtime/comm/inproc/inproc.h"
#include "runtime/device/xla/xla_device.h"
#include "support/job.h"

namespace partita {

/// An executor of one rank, whose states are set.
struct OneRank {
  OneRank(Job given, std::unique_ptr<Device> where)
      : job(std::move(given)),
        program(compile_job(job)),
        device(std::move(where)),
        executor(program.pipeline, program.stages, all_ops(), *device, *world[0]) {
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[state.entry].name;
      const auto known = job.states.find(name);
      executor.set_state(name, known != job.states.end() ? known->second : Array(program.graph.type(state.entry)));
    }
    set("learning_rate", Array({DType::f64, {}}));
  }
  OneRank(Job given, const Accelerator& accelerator)
      : OneRank(std::move(given), make_device(all_ops(), accelerator, 1)) {}

  StageExecutor& stage() { return *executor.stages()[0]; }
  void set(const std::string& name, const Array& value) { executor.set_input(name, value.tensor()); }
  void set_next(const std::string& name, const Array& value) {
    stage().set_next_input(name, value.tensor(), whole_box(value.type().shape));
  }
  /// The value that the programs of a step get.
  Array value(const std::string& name) {
    const int buffer = stage().named().input(name);
    Array copy(stage().type_of(buffer));
    std::memcpy(copy.data(), stage().value_of(buffer, 0), static_cast<size_t>(copy.type().bytes()));
    return copy;
  }
  Arrays states() {
    Arrays states;
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[state.entry].name;
      states.emplace(name, executor.state(name));
    }
    return states;
  }

  Job job;
  Program program;
  std::unique_ptr<Device> device;
  std::vector<std::unique_ptr<Communicator>> world = make_inproc_world(1);
  Executor executor;
};

inline bool are_equal(const Array& a, const Array& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.type().bytes())) == 0;
}

}  // namespace partita
