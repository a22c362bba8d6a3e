// The lines of a graph's text may stand in any order: what is compiled from it computes the same.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/philox.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "support/interpreted.h"
#include "support/job.h"

namespace partita {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Returns the lines of a text with all but the first in a random order.
std::string shuffled(const std::string& text, uint64_t seed) {
  std::vector<std::string> lines = lines_of(text);
  const uint64_t key = random_key(seed, "lines");
  for (size_t i = lines.size() - 1; i > 1; --i) {
    std::swap(lines[i], lines[1 + random_below(key, i, 0, static_cast<int64_t>(i))]);
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

struct Case {
  const char* name;
  const char* model;
  Shape image;
  Parallel parallel;
};

class ShuffledLines : public testing::TestWithParam<Case> {};

TEST_P(ShuffledLines, ComputeTheSame) {
  const auto& [name, model, image, parallel] = GetParam();
  const Job job = model_job(model, {.image = image, .batch = 4});
  const std::string text = print(make_training_graph(job.forward, all_ops(), job.training).graph);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(fmt::format("shuffle {}", seed));
    const Graph graph = parse_graph(shuffled(text, seed), all_ops());
    expect_interpreted(
        graph, {.ranks = 2, .plan = {.parallel = parallel}, .below = 10, .initial_states = true, .tolerance = 1e-9});
  }
}

// A forward graph is differentiated in whatever order it stands.
TEST_P(ShuffledLines, AreDifferentiated) {
  const auto& [name, model, image, parallel] = GetParam();
  const Job job = model_job(model, {.image = image, .batch = 4});
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(fmt::format("shuffle {}", seed));
    const Graph forward = parse_graph(shuffled(print(job.forward), seed), all_ops());
    const Graph graph = make_training_graph(forward, all_ops(), job.training).graph;
    expect_interpreted(
        graph, {.ranks = 2, .plan = {.parallel = parallel}, .below = 10, .initial_states = true, .tolerance = 1e-9});
  }
}

constexpr const char* kGptSpec = "gpt:layers=2,hidden=16,heads=2,seq=8,vocab=11,dropout=0.1";
constexpr const char* kMoeSpec = "moe:layers=2,hidden=16,heads=2,seq=8,vocab=11,experts=4";

INSTANTIATE_TEST_SUITE_P(Models, ShuffledLines,
                         testing::Values(Case{"MlpData", "mlp:hidden=16", {1, 6, 6}, Parallel::data},
                                         Case{"MlpAuto", "mlp:hidden=16", {1, 6, 6}, Parallel::automatic},
                                         Case{"LenetData", "lenet", {1, 28, 28}, Parallel::data},
                                         Case{"LenetAuto", "lenet", {1, 28, 28}, Parallel::automatic},
                                         Case{"Resnet", "resnet18:width=4,size=8", {3, 8, 8}, Parallel::data},
                                         Case{"GptData", kGptSpec, {}, Parallel::data},
                                         Case{"GptAuto", kGptSpec, {}, Parallel::automatic},
                                         Case{"MoeData", kMoeSpec, {}, Parallel::data},
                                         Case{"MoeAuto", kMoeSpec, {}, Parallel::automatic}),
                         [](const auto& info) { return info.param.name; });

// Cases next to the data, when they are there: graphs with gradient nodes before the nodes that these come from.
TEST(LineOrder, GraphsThatWereFoundByMutation) {
  const char* data = std::getenv("PARTITA_DATA");
  const std::filesystem::path folder = std::filesystem::path(data ? data : "") / "../cases/bad_graphs";
  if (data == nullptr || !std::filesystem::is_directory(folder)) GTEST_SKIP() << "no folder of cases";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    expect_interpreted(parse_graph(text, all_ops()),
                       {.ranks = 2, .steps = 1, .below = 2, .initial_states = true, .tolerance = 1e-5});
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace partita
