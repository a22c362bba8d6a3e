#include "training/predictor.h"

#include <algorithm>

#include "runtime/comm/inproc/inproc.h"
#include "runtime/execute/executor.h"
#include "training/memory.h"
#include "training/rank_run.h"

namespace partita {

Predictor make_predictor(const ModelJob& job, ModelStates& states, bool resumes, const std::vector<Column>& columns,
                         int64_t rows) {
  struct Held {
    Program program;
    std::vector<std::unique_ptr<Communicator>> world = make_inproc_world(1);
    std::optional<RankRun> rank;
  };
  const auto held = std::make_shared<Held>();
  held->program = job.program(columns, rows, /*ranks=*/1, Purpose::prediction);
  job.require_room(held->program, /*ranks=*/1, kCopiesOfStates);
  states.prepare(held->program.graph, job.config.training.seed, /*makes_them=*/true, resumes);
  const std::optional<States> averaged = states.averaged();
  held->rank.emplace(held->program, averaged ? *averaged : states.all(), job.rank_options(), *held->world[0]);
  return [held](const NamedArrays& batch) {
    Executor& executor = held->rank->executor();
    for (const Input& input : held->program.graph.inputs) {
      const std::string& name = held->program.graph.values[static_cast<size_t>(input.value)].name;
      const auto given = std::ranges::find_if(batch, [&](const auto& c) { return c.first == name; });
      if (given == batch.end()) {
        throw InvalidArgument(ErrorKind::key, "[predict] column '{}' is missing, expected it among {} given", name,
                              batch.size());
      }
      executor.set_input(name, given->second.tensor());
    }
    executor.run();
    NamedArrays outputs;
    for (const Output& output : held->program.graph.outputs) {
      outputs.emplace_back(output.name, executor.output(output.name));
    }
    return outputs;
  };
}

}  // namespace partita
