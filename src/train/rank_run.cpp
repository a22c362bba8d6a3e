#include "train/rank_run.h"

#include <algorithm>
#include <cmath>

#include "ops/registry.h"

namespace partita {
namespace {

const std::string& name_of(const Graph& graph, int value) { return graph.values[static_cast<size_t>(value)].name; }

}  // namespace

Column input_column(const Dataset& dataset) {
  const auto& columns = dataset.columns();
  const auto found = std::find_if(columns.begin(), columns.end(), [](const Column& c) { return c.name != "label"; });
  if (found == columns.end()) throw InvalidArgument("[data] no column to read, got label alone, expected an input");
  return *found;
}

Type label_type(const Dataset& dataset) { return dataset.columns()[find_column(dataset, "label")].type; }

RankRun::RankRun(const Program& program, const States& states, const RankOptions& options, Communicator& comm)
    : program_(program), comm_(comm), device_(make_cpu_device(all_ops(), options.threads, options.kernels)) {
  device_->enter_thread();
  executor_.emplace(program.local, program.schedule, all_ops(), *device_, comm);
  for (const State& state : program.graph.states) {
    const std::string& name = name_of(program.graph, state.entry);
    executor_->set_state(name, states.at(name));
  }
}

void RankRun::feed(const Batch& batch) {
  const auto& inputs = program_.graph.inputs;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const std::string& name = batch.columns[i].name;
    const bool read = std::any_of(inputs.begin(), inputs.end(),
                                  [&](const Input& input) { return name_of(program_.graph, input.value) == name; });
    if (read) executor_->set_input(name, batch.arrays[i].tensor());
  }
}

void RankRun::feed_learning_rate(double rate) {
  Array value(executor_->input_type("learning_rate"));
  value.set(0, rate);
  if (!std::isfinite(value.at(0))) {
    throw InvalidArgument(fmt::format("[learning rate] infinite in {}, got {}, expected a number that it can hold",
                                      name_of(value.type().dtype), rate));
  }
  executor_->set_input("learning_rate", value.tensor());
}

Batcher RankRun::rows(const DatasetPtr& dataset, int64_t batch) const {
  const bool cut = executor_->input_type(input_column(*dataset).name).shape.at(0) != batch;
  return Batcher(dataset, {.batch = batch, .rank = cut ? comm_.rank() : 0, .ranks = cut ? comm_.size() : 1});
}

States RankRun::states() const {
  States states;
  for (const State& state : program_.graph.states) {
    const std::string& name = name_of(program_.graph, state.entry);
    states.emplace(name, executor_->state(name));
  }
  return states;
}

}  // namespace partita
