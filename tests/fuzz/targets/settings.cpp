// Configuration files and clusters, and the values of single options.

#include <cmath>

#include "fuzz/target.h"
#include "job/toml.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "planner/pricing/layers/configuration.h"
#include "planner/pricing/search/search_configurations.h"
#include "runtime/comm/sockets/socket.h"
#include "runtime/launch/launched.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

JobConfig config_of(const std::string& text) {
  JobConfig config;
  assign(config, parse_config(text, "job.toml"));
  return config;
}

std::string some_config() {
  JobConfig config{.model = "gpt:layers=4,hidden=128"};
  config.data.source = DataSource{DataKind::npz, {"a.npz", "b.npz"}};
  config.training.ignore_index = -1;
  config.training.patience = 3;
  config.plan.options.parallel = Parallel::automatic;
  config.plan.options.dataset = {.kind = DatasetSharding::Kind::strategy, .strategy = {{2, 4}, {8}}};
  config.plan.options.pipeline.stage_annotations = {{"net/h/0..5", 0}, {"net/h/6..11", 1}};
  config.plan.annotations = {parse_node_annotation("net/fc1/matmul=((2,4),(4,1))")};
  config.plan.recompute_layers = {parse_recompute_annotation("net/h/0..1=full")};
  config.files.checkpoint = "runs/\"a\"";
  return print(config);
}

void read_config_text(const std::string& input) {
  const auto printed = [](const JobConfig& config) { return print(config); };
  require_fixed_point(printed, config_of, print(config_of(input)));
}

void read_cluster_text(const std::string& input) {
  const auto printed = [](const Cluster& cluster) { return print(cluster); };
  const auto parse = [](const std::string& text) { return parse_cluster(text, "cluster.toml"); };
  require_fixed_point(printed, parse, print(parse(input)));
}

void read_configuration(const std::string& input) {
  const auto printed = [](const Configuration& configuration) { return print(configuration); };
  const auto parse = [](const std::string& text) { return parse_configuration(text); };
  const Configuration configuration = parse(input);
  require_fixed_point(printed, parse, print(configuration));
  const Configuration whole = completed(configuration, configuration.ranks(), 64);
  require(whole.micro_batch > 0 && micro_batches(whole, 64) > 0, "a configuration that is not complete");
}

/// Reads the name of an option, and after a line break its texts, one per line.
void read_option_text(const std::string& input) {
  const size_t end = std::min(input.find('\n'), input.size());
  const JobOption& option = find_option(input.substr(0, end));
  JobConfig config;
  std::vector<std::string> texts;
  for (size_t begin = end + 1; begin <= input.size();) {
    const size_t next = std::min(input.find('\n', begin), input.size());
    texts.push_back(input.substr(begin, next - begin));
    begin = next + 1;
  }
  if (texts.empty()) return;
  if (option.form != JobOption::Form::list) texts.resize(1);
  option.set(config, "--flag", texts);
  const std::vector<std::string> printed = option.get(config);
  JobConfig again;
  if (!printed.empty()) option.set(again, "--flag", printed);
  require(option.get(again) == printed, fmt::format("{} is read as {}, and that as {}", fmt::join(texts, "|"),
                                                    fmt::join(printed, "|"), fmt::join(option.get(again), "|")));
}

std::vector<std::string> some_options() {
  std::vector<std::string> inputs;
  for (const JobOption& option : job_options()) {
    const std::vector<std::string> texts = option.get(config_of(some_config()));
    if (!texts.empty()) inputs.push_back(fmt::format("{}\n{}", option.key(), fmt::join(texts, "\n")));
  }
  return inputs;
}

/// NAME=VALUE on each line.
void read_environment(const std::string& input) {
  std::map<std::string, std::string> variables;
  for (size_t begin = 0; begin < input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    const std::string line = input.substr(begin, end - begin);
    begin = end + 1;
    const std::string name = line.substr(0, line.find('='));
    // Tables of ranks are a target of their own.
    const bool is_file = name == "RANK_TABLE_FILE" || name == "MINDSPORE_HCCL_CONFIG_PATH";
    if (!is_file && name.size() < line.size()) variables[name] = line.substr(name.size() + 1);
  }
  const auto launched = launched_rank([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  if (!launched) return;
  require(launched->rank >= 0 && launched->rank < launched->size, "a rank that is not of the world");
  // Where nobody says how many ranks are on a host it is 1.
  const int local_size = launched->local_size == 1 ? launched->size : launched->local_size;
  require(launched->local_rank >= 0 && launched->local_rank < local_size && local_size <= launched->size,
          "a rank that is not of its host");
}

void read_model(const std::string& input) { make_model(input); }

std::vector<std::string> some_environments() {
  return std::vector<std::string>{
      "PARTITA_RANK=1\nPARTITA_SIZE=4\nPARTITA_MASTER=10.0.0.1:2950\nPARTITA_LOCAL_RANK=1\nPARTITA_LOCAL_"
      "SIZE=2\n"
      "PARTITA_LISTENER=3\n",
      "OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=0\n"
      "OMPI_COMM_WORLD_LOCAL_SIZE=2\n",
      "SLURM_PROCID=1\nSLURM_STEP_NUM_TASKS=2\nSLURM_LOCALID=1\nSLURM_STEP_TASKS_PER_NODE=2(x1)\nPMIX_RANK="
      "1\n",
      "RANK=3\nWORLD_SIZE=4\nMASTER_ADDR=10.0.0.1\nMASTER_PORT=2950\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\n"};
}

}  // namespace

std::vector<FuzzTarget> settings_targets() {
  return {
      {.name = "config",
       .seeds = [] { return std::vector{some_config()}; },
       .read = read_config_text,
       .words = {"[plan]\n", "[training]\n", "[[plan]]\n", "\"\"\"", "'''", "plan.", "1979-05-27T07:32:00Z", "0x1f"}},
      {.name = "cluster",
       .seeds =
           [] {
             std::vector<std::string> clusters;
             for (const char* name : {"cpu"}) clusters.push_back(print(cluster_named(name)));
             return clusters;
           },
       .read = read_cluster_text,
       .words = {"[[level]]\n", "[device]\n", "inf", "nan", "fitted = [", "[1e3, 0.5]"},
       .max_bytes = 40'000},
      {.name = "configuration",
       .seeds =
           [] {
             return std::vector<std::string>{
                 "data=8,tensor=8,pipeline=8,micro_batch=1,interleave=3,recompute=full,sequence_parallel=true,zero=1",
                 "data=2,context=2,pipeline=3,recompute=full:4/2/0+selective:0/1/0,order=zero_bubble"};
           },
       .read = read_configuration,
       .words = {"data=", "tensor=", "pipeline=", "interleave=", "micro_batch=", "zero=", "recompute=", "full:", "/0",
                 "+selective:", "order=", "deal=", "context="}},
      {.name = "options",
       .seeds = some_options,
       .read = read_option_text,
       .words = {"=", "..", "[dp=2]((dp))", "((2,4),(4,1))", "->", "npz:", "full"}},
      {.name = "environment", .seeds = some_environments, .read = read_environment},
      {.name = "endpoint",
       .seeds =
           [] {
             return std::vector<std::string>{"10.0.0.1:2950", "[::1]:2950", "node7:2950"};
           },
       .read =
           [](const std::string& input) {
             const auto printed = [](const Endpoint& endpoint) { return print(endpoint); };
             const auto parse = [](const std::string& text) { return parse_endpoint("master", text); };
             require_fixed_point(printed, parse, print(parse(input)));
           }},
      {.name = "model",
       .seeds =
           [] {
             return std::vector<std::string>{"mlp:layers=2,hidden=4096", "gpt:layers=2,hidden=8,heads=2,seq=8",
                                             "gpt:175b,seq=4096", "resnet18:width=4,size=8"};
           },
       .read = read_model,
       .words = {"layers=", "hidden=", "heads=", ",", "moe:", "t5:", "llama:", "bert:"}}};
}

}  // namespace partita
