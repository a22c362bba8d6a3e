// The time from a model's name to its training graph; nothing is allocated.
//
//   bench_model_graphs [REPEATS=20] [MODEL...]
//
// Prints for each model the nodes of its training graph and the median milliseconds of `make_model`, `build_graph` and
// `make_training_graph`.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "compiler/autodiff/training_graph.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "usage.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

const std::vector<std::string> kModels{"gpt:175b",
                                       "gpt:1t",
                                       "gpt:layers=1024,hidden=1024,heads=16,seq=1024,vocab=51200",
                                       "llama:8b",
                                       "llama:405b",
                                       "moe:layers=61,experts=64,hidden=4096,heads=32,seq=2048,vocab=51200",
                                       "bert:large",
                                       "t5:11b",
                                       "vit:huge",
                                       "wide_resnet:13b",
                                       "resnet50:size=224,classes=1000",
                                       "inception:v3",
                                       "recommender:criteo"};

double milliseconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

void run(const std::string& spec, int64_t repeats) {
  std::vector<double> made, built, trained;
  size_t nodes = 0;
  for (int64_t i = 0; i < repeats; ++i) {
    std::optional<ZooModel> model;
    std::optional<Graph> forward;
    made.push_back(milliseconds_of([&] { model = make_model(spec); }));
    built.push_back(milliseconds_of([&] {
      forward = build_graph(model->network(Loss::sparse), all_ops(), {.batch = 8, .columns = model->columns()});
    }));
    TrainingOptions options;
    options.optimizer = model->recipe.optimizer;
    trained.push_back(
        milliseconds_of([&] { nodes = make_training_graph(*forward, all_ops(), options).graph.nodes.size(); }));
  }
  fmt::print("{:<72} {:>7} nodes {:>8.2f} {:>8.2f} {:>8.2f} ms\n", spec, nodes, median(made), median(built),
             median(trained));
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "[REPEATS] [MODEL..]", /*required=*/0, [](const partita::Arguments& given) {
    const int repeats = given.number(1, 20);
    const std::vector<std::string> models = given.rest(2);
    for (const std::string& spec : models.empty() ? partita::kModels : models) partita::run(spec, repeats);
  });
}
