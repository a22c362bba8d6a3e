#include "planner/plan_file/plan_file.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/plain_text.h"
#include "base/scanner.h"
#include "base/text_file.h"
#include "compiler/plan/assign_stages.h"
#include "compiler/plan/name_stages.h"
#include "compiler/search/named_cuts.h"
#include "planner/cluster/presets.h"
#include "planner/pricing/layers/quantities.h"
#include "planner/pricing/search/job_of.h"

namespace partita {
namespace {

constexpr std::string_view kKind = "training plan";
constexpr std::string_view kOther = "not a training plan of this version";
constexpr TextFile kPlanFile{.where = "--plan", .purpose = "a plan", .max_bytes = int64_t{64} << 20};
constexpr int64_t kMaxPlannedBatch = int64_t{1} << 40;

std::string print_fingerprint(const NetworkFingerprint& network) {
  return fmt::format("{:016x} nodes={} parameters={}", network.digest, network.nodes, network.parameters);
}

class PlanFileReader : private Scanner {
 public:
  PlanFileReader(std::string_view text, const std::string& path)
      : Scanner(std::string(kKind), text, kOther, kOther, path) {
    plan_.path = path;
  }

  PlanFile read() {
    while (next()) {
      const std::string_view keyword = token();
      if (keyword == "end") {
        end();
        if (next()) fail("a line after the end", rest().substr(0, 20), "no more lines");
        return checked();
      }
      read_line(keyword);
    }
    fail("the text ends too early", rest(), "'end' as the last line");
  }

 private:
  void read_line(std::string_view keyword) {
    for (const NamedKind kind : {NamedKind::input, NamedKind::state, NamedKind::node, NamedKind::gradient,
                                 NamedKind::result, NamedKind::gradient_result}) {
      if (keyword == name_of(kind)) return read_cut(kind);
    }
    if (keyword == "stage") return read_stage();
    if (keyword == "recompute") return read_recompute();
    if (keyword == "predicted") return read_predicted();
    const auto known = lines_.find(keyword);
    if (known == lines_.end()) {
      std::vector<std::string> names{"stage", "recompute", "predicted", "input", "state",
                                     "node",  "gradient",  "result",    "end"};
      for (const auto& [name, line] : lines_) names.emplace_back(name);
      fail("unknown line", keyword, fmt::format("one of {}{}", fmt::join(names, " "), did_you_mean(keyword, names)));
    }
    auto& [read, seen] = known->second;
    once(seen, keyword);
    (this->*read)();
  }

  void read_model() { plan_.model = said("a model"); }
  void read_cluster() { plan_.cluster = said("a cluster"); }
  void read_tf32() {
    const std::string_view word = token();
    if (word != "true" && word != "false") fail("unknown switch", word, "true or false");
    plan_.tf32 = word == "true";
    end();
  }
  void read_reduce_dtype() {
    plan_.reduce_dtype = with_line([&] { return parse_name<ReduceDType>("reduce_dtype", token()); });
    end();
  }
  void read_software() {
    plan_.software_line = line();
    plan_.software = said("a software");
  }
  std::string said(std::string_view expected) {
    if (rest().empty()) fail("the line has no value", rest(), expected);
    return std::string(take_rest());
  }

  void read_batch() {
    plan_.batch = number(1, kMaxPlannedBatch);
    end();
  }

  void read_ranks() {
    plan_.ranks = number(1, kMaxMeshRanks);
    ranks_place_ = place();
    end();
  }

  void read_dtype() {
    const std::string name(token());
    const auto dtype = parse_dtype(name);
    if (!dtype || !is_float(*dtype)) fail("unknown type", name, "f32, f64, bf16 or f16");
    plan_.dtype = *dtype;
    plan_.dtype_line = line();
    end();
  }

  void read_network() {
    NetworkFingerprint network;
    const std::string_view digits = token();
    const std::optional<uint64_t> digest = parse_checksum(digits);
    if (!digest) fail("not a fingerprint", digits, "16 hexadecimal digits");
    network.digest = *digest;
    expect("nodes=");
    network.nodes = number();
    expect("parameters=");
    network.parameters = number();
    end();
    plan_.network = network;
    plan_.network_line = line();
  }

  void read_configuration() {
    configuration_place_ = place();
    plan_.configuration = parse_configuration(take_rest(), configuration_place_);
  }

  void read_parallel() {
    plan_.parallel = with_line([&] { return parse_name<Parallel>("parallel", token()); });
    end();
  }

  void read_others() {
    const std::string_view name = token();
    if (name != "uncut") cuts().others = with_line([&] { return parse_name<Search>("others", name); });
    end();
  }

  void read_mesh() {
    mesh_place_ = place();
    cuts().mesh = with_line([&] { return parse_mesh(fmt::format("mesh {}", take_rest())); });
    if (cuts().mesh.micro_axis() >= 0) {
      fail("a mesh with micro-batches", print(cuts().mesh), "axes of ranks; the configuration says micro_batch");
    }
  }

  void read_stage() {
    const int64_t stage = number(0, kMaxStages - 1);
    const auto expected = static_cast<int64_t>(plan_.stages.size());
    if (stage != expected) fail("another stage", fmt::format("{}", stage), fmt::format("stage {}", expected));
    std::vector<std::string>& layers = plan_.stages.emplace_back();
    while (!rest().empty()) layers.emplace_back(token());
    if (layers.empty()) fail("a stage without layers", rest(), "the beginnings of the paths of its layers");
    if (stage == 0) stages_place_ = place();
  }

  void read_recompute() {
    const auto policy = with_line([&] { return parse_name<Recompute>("recompute", token()); });
    if (policy == Recompute::none) fail("nothing is recomputed", name_of(policy), "selective or full");
    if (recompute_place_.empty()) recompute_place_ = place();
    std::vector<std::string>& layers = plan_.recomputed[policy];
    if (!layers.empty()) fail("given twice", name_of(policy), "one line with all of its layers");
    while (!rest().empty()) layers.emplace_back(token());
    if (layers.empty()) fail("no layers are recomputed", rest(), "the beginnings of the paths of its layers");
  }

  void read_cut(NamedKind kind) {
    NamedLine line{.kind = kind, .names = std::string(token()), .text = {}, .line = this->line()};
    if (line.names.empty()) fail("nothing is named", rest(), "a name");
    if (first_cut_.empty()) first_cut_ = place();
    while (!rest().empty()) line.text += fmt::format("{}{}", line.text.empty() ? "" : " ", token());
    cuts().lines.push_back(std::move(line));
  }

  void read_predicted() {
    const std::string_view what = token();
    if (!plan_.predicted) plan_.predicted.emplace();
    if (what == "step_seconds") {
      once(has_seconds_, what);
      plan_.predicted->step_seconds = positive();
    } else if (what == "memory_bytes") {
      once(has_memory_, what);
      while (!rest().empty()) plan_.predicted->memory_bytes.push_back(positive());
    } else {
      fail("unknown prediction", what, "step_seconds or memory_bytes");
    }
    end();
  }

  double positive() {
    const std::string_view digits = token();
    const double value = parse_number<double>(digits).value_or(-1);
    if (!(value >= 0) || value > 1e300) fail("bad number", digits, "a number of 0 or more");
    return value;
  }

  NamedCuts& cuts() {
    if (!plan_.cuts) plan_.cuts.emplace().file = plan_.path;
    return *plan_.cuts;
  }

  /// Checks the lines against each other and returns the plan, with its configuration completed. Throws InvalidArgument
  /// if a line is missing, they contradict each other, or the configuration does not fit the ranks or the batch.
  PlanFile checked() {
    for (const std::string_view name : {"batch", "ranks", "configuration"}) {
      if (!lines_.at(name).second) fail(fmt::format("no line '{}'", name), "end", fmt::format("{} ..", name));
    }
    const std::string whole_place = configuration_place_;
    plan_.configuration = completed(plan_.configuration, plan_.ranks, plan_.batch, whole_place);
    const auto refuse = [](const std::string& where, const std::string& what, int64_t got,
                           const std::string& expected) {
      throw InvalidArgument("[{}] {}, got {}, expected {}", where, what, got, expected);
    };
    const int64_t stages = plan_.configuration.pipeline * plan_.configuration.interleave;
    const auto named = static_cast<int64_t>(plan_.stages.size());
    if (named > 0 && named != stages) {
      refuse(stages_place_, "another number of stages", named,
             fmt::format("{}: pipeline times interleave of the configuration, or no line 'stage'", stages));
    }
    const RecomputedLayers& recompute = plan_.configuration.recompute;
    if (recompute.is_counted() && plan_.recomputed.empty()) {
      throw InvalidArgument(
          "[{}] the plan does not name the recomputed layers, got recompute={} and no line 'recompute', expected "
          "recompute full LAYERS..",
          configuration_place_, print(recompute));
    }
    if (!recompute.is_counted() && !plan_.recomputed.empty()) {
      throw InvalidArgument(
          "[{}] recomputed layers are named but not counted in the configuration, got recompute={}, expected numbers "
          "of layers, such as recompute=full:1, or no line 'recompute'",
          recompute_place_, print(recompute));
    }
    if (!plan_.cuts) return std::move(plan_);
    const int64_t ranks = plan_.ranks / plan_.configuration.pipeline;
    if (mesh_place_.empty()) {
      if (!first_cut_.empty() && ranks > 1) {
        throw InvalidArgument("[{}] cuts without a mesh, got no line 'mesh', expected the axes of {} ranks", first_cut_,
                              ranks);
      }
      plan_.cuts->mesh = Mesh();
    }
    if (plan_.cuts->mesh.ranks() != ranks) {
      refuse(mesh_place_, "the mesh has another number of ranks", plan_.cuts->mesh.ranks(),
             fmt::format("{}: {} ranks in {} group{} of stages", ranks, plan_.ranks, plan_.configuration.pipeline,
                         plan_.configuration.pipeline == 1 ? "" : "s"));
    }
    return std::move(plan_);
  }

  using Read = void (PlanFileReader::*)();
  /// Lines that may be given once: their reader, and whether they were given.
  std::map<std::string_view, std::pair<Read, bool>> lines_{
      {"model", {&PlanFileReader::read_model, false}},
      {"batch", {&PlanFileReader::read_batch, false}},
      {"dtype", {&PlanFileReader::read_dtype, false}},
      {"tf32", {&PlanFileReader::read_tf32, false}},
      {"reduce_dtype", {&PlanFileReader::read_reduce_dtype, false}},
      {"cluster", {&PlanFileReader::read_cluster, false}},
      {"software", {&PlanFileReader::read_software, false}},
      {"ranks", {&PlanFileReader::read_ranks, false}},
      {"network", {&PlanFileReader::read_network, false}},
      {"configuration", {&PlanFileReader::read_configuration, false}},
      {"parallel", {&PlanFileReader::read_parallel, false}},
      {"others", {&PlanFileReader::read_others, false}},
      {"mesh", {&PlanFileReader::read_mesh, false}}};
  PlanFile plan_;
  bool has_seconds_ = false, has_memory_ = false;
  std::string ranks_place_, configuration_place_, mesh_place_, stages_place_, recompute_place_, first_cut_;
};

}  // namespace

std::string print(const PlanFile& plan) {
  std::string text = fmt::format("partita {} 1\n", kKind);
  if (!plan.model.empty()) text += fmt::format("model {}\n", plan.model);
  text += fmt::format("batch {}\ndtype {}\n", plan.batch, name_of(plan.dtype));
  if (!plan.tf32) text += "tf32 false\n";
  if (plan.reduce_dtype != ReduceDType::f32) text += fmt::format("reduce_dtype {}\n", name_of(plan.reduce_dtype));
  if (!plan.cluster.empty()) text += fmt::format("cluster {}\n", plan.cluster);
  if (!plan.software.empty()) text += fmt::format("software {}\n", plan.software);
  text += fmt::format("ranks {}\n", plan.ranks);
  if (plan.network) text += fmt::format("network {}\n", print_fingerprint(*plan.network));
  text += fmt::format("configuration {}\nparallel {}\n", print(plan.configuration), name_of(plan.parallel));
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    text += fmt::format("stage {} {}\n", stage, fmt::join(plan.stages[stage], " "));
  }
  for (const auto& [policy, layers] : plan.recomputed) {
    text += fmt::format("recompute {} {}\n", name_of(policy), fmt::join(layers, " "));
  }
  if (plan.cuts) {
    text += print(plan.cuts->mesh) + "\n";
    if (plan.cuts->others) text += fmt::format("others {}\n", name_of(*plan.cuts->others));
    for (const NamedLine& line : plan.cuts->lines) {
      text += fmt::format("{} {}{}{}\n", name_of(line.kind), line.names, line.text.empty() ? "" : " ", line.text);
    }
  }
  if (plan.predicted) {
    text += fmt::format("predicted step_seconds {}\n", plan.predicted->step_seconds);
    if (!plan.predicted->memory_bytes.empty()) {
      text += fmt::format("predicted memory_bytes {}\n", fmt::join(plan.predicted->memory_bytes, " "));
    }
  }
  return text + "end\n";
}

PlanFile parse_plan_file(std::string_view text, const std::string& path) { return PlanFileReader(text, path).read(); }

PlanFile read_plan_file(const std::string& path) { return parse_plan_file(read_text_file(path, kPlanFile), path); }

namespace {

std::string describe(const PlanFile& plan) {
  const std::string seconds = plan.predicted && plan.predicted->step_seconds > 0
                                  ? fmt::format(", {} a step predicted", print_seconds(plan.predicted->step_seconds))
                                  : "";
  return fmt::format("plan {}: {}{}", plan.path, print(plan.configuration), seconds);
}

}  // namespace

JobConfig with_plan(JobConfig config, const PlanFile& plan) {
  const Configuration& configuration = plan.configuration;
  config.training.batch = plan.batch;
  config.ranks.count = static_cast<int>(plan.ranks);
  config.plan.file = plan.path;
  config.plan.given = GivenPlan{.file = plan.path,
                                .line = plan.network_line,
                                .description = describe(plan),
                                .configuration = print(configuration),
                                .network = plan.network,
                                .cuts = plan.cuts};
  config.plan.recompute = configuration.recompute.all;
  config.plan.recompute_layers = recompute_annotations(plan.recomputed);
  PlanOptions& options = config.plan.options;
  if (plan.cuts) {  // nothing is left to be annotated or searched
    config.plan.annotations.clear();
    options.dataset = {};
    options.search = {};
  }
  options.parallel = plan.parallel;
  options.micro_batches = micro_batches(configuration, plan.batch);
  options.zero.level = configuration.zero;
  options.blocks = blocks_of(configuration);
  if (options.blocks.searched && !plan.cuts) options.search = Search::exact;
  options.pipeline = pipeline_of(configuration, plan.stages.size() > 1 ? plan.stages : decltype(plan.stages)());
  return config;
}

PlanFile plan_file_of(const PlannedTraining& planned) {
  const PlanOptions& options = planned.config.plan.options;
  const Rules rules(planned.training, planned.ops);
  const int64_t ranks = planned.configuration.ranks() / planned.configuration.pipeline;
  const Mesh mesh = make_mesh(planned.training, ranks, options);
  PlanFile plan{.model = planned.config.model,
                .batch = planned.config.training.batch,
                .dtype = planned.config.training.dtype,
                .ranks = planned.configuration.ranks(),
                .configuration = planned.configuration,
                .parallel = options.parallel};
  plan.cuts = name_cuts(make_plan(planned.training, planned.ops, mesh, options), planned.training, rules);
  if (options.pipeline.stages > 1) {
    plan.stages = name_stages(planned.training, assign_stages(planned.training, rules, options.pipeline.stages));
  }
  for (const RecomputeAnnotation& annotation : planned.config.plan.recompute_layers)
    plan.recomputed[annotation.policy].push_back(annotation.layers);
  return plan;
}

namespace {

/// Returns the configuration that a program with cuts runs: that of the given plan if there is one, else one that is
/// derived from the options. None if layers are named one by one to be recomputed, or the batch does not divide. Throws
/// InvalidArgument if the configuration of a given plan is malformed.
std::optional<Configuration> configuration_of(const JobConfig& config, const Program& program) {
  if (config.plan.given && !config.plan.given->configuration.empty()) {
    return parse_configuration(config.plan.given->configuration);
  }
  if (!config.plan.recompute_layers.empty()) return std::nullopt;
  const PlanOptions& options = config.plan.options;
  const auto groups = static_cast<int64_t>(program.pipeline.groups.size());
  const int64_t ranks = program.cuts->mesh.ranks();
  Configuration configuration{.context = options.blocks.context,
                              .tensor = options.blocks.tensor,
                              .pipeline = groups,
                              .cuts = options.blocks.searched ? TensorCuts::searched : TensorCuts::blocks,
                              .squeeze = options.blocks.squeeze,
                              .sequence_parallel = options.blocks.sequence,
                              .interleave = options.pipeline.interleave,
                              .order = options.pipeline.order,
                              .recompute = config.plan.recompute,
                              .zero = options.zero.level};
  if (options.parallel == Parallel::automatic && !options.blocks.any()) {
    // A search chose all cuts: the axes that cut the batch become `data`, the others `tensor`.
    for (size_t i = 0; i < program.graph.inputs.size(); ++i) {
      if (program.graph.inputs[i].batch_dim != 0) continue;
      configuration.data = program.cuts->mesh.ways(program.cuts->inputs[i][0]);
      break;
    }
    configuration.tensor = ranks / configuration.data;
    if (configuration.tensor > 1) configuration.cuts = TensorCuts::searched;
  } else {
    configuration.data = ranks / (configuration.tensor * configuration.context);
  }
  const int64_t parts = configuration.data * options.micro_batches;
  if (config.training.batch % parts != 0) return std::nullopt;
  configuration.micro_batch = config.training.batch / parts;
  return configuration;
}

}  // namespace

std::optional<PlanFile> plan_file_of(const JobConfig& config, const Program& program, const OpSet& ops) {
  if (!program.cuts) return std::nullopt;
  const std::optional<Configuration> configuration = configuration_of(config, program);
  if (!configuration) return std::nullopt;
  PlanFile plan{.model = config.model,
                .batch = config.training.batch,
                .dtype = config.training.dtype,
                .ranks = configuration->ranks(),
                .configuration = *configuration,
                .parallel = config.plan.options.parallel};
  plan.cuts = name_cuts(*program.cuts, program.graph, Rules(program.graph, ops));
  if (program.assignment.stages > 1) plan.stages = name_stages(program.graph, program.assignment);
  for (const RecomputeAnnotation& annotation : config.plan.recompute_layers)
    plan.recomputed[annotation.policy].push_back(annotation.layers);
  return plan;
}

std::string dtype_warning(const PlanFile& plan, const TrainingConfig& training) {
  const DType trained =
      training.precision == MixedPrecision::f32 ? training.dtype : parse_dtype(name_of(training.precision)).value();
  if (plan.dtype == trained) return "";
  const std::string place = plan.dtype_line > 0 ? fmt::format("{}:{}", plan.path, plan.dtype_line) : plan.path;
  return fmt::format(
      "[{}] the plan is for another type than the training, got {}, expected {}: it predicts other steps", place,
      name_of(plan.dtype), name_of(trained));
}

namespace {

/// Returns the software of the predictions; "" if it is not known.
std::string software_of(const PlanFile& plan) {
  if (!plan.software.empty() || plan.cluster.empty() || is_cluster_file(plan.cluster)) return plan.software;
  try {
    return cluster_named(plan.cluster).software.name;
  } catch (const InvalidArgument&) {  // only a training of the plan is wanted, so nobody asked for its cluster
    return "";
  }
}

/// Returns the command that prices the same plan for this library; a sentence if the plan does not say what it is for.
std::string own_question(const PlanFile& plan) {
  if (plan.model.empty() || plan.cluster.empty() || is_cluster_file(plan.cluster))
    return fmt::format("plan with the software {} of the cluster", kOwnSoftware);
  std::string command = fmt::format("partita plan {} --cluster {}@{} --batch {} --dtype {} --fixed {}", plan.model,
                                    plan.cluster.substr(0, plan.cluster.find('@')), kOwnSoftware, plan.batch,
                                    name_of(plan.dtype), print(plan.configuration));
  if (!plan.tf32) command += " --tf32 false";
  if (plan.reduce_dtype != ReduceDType::f32) command += fmt::format(" --reduce-dtype {}", name_of(plan.reduce_dtype));
  return command;
}

}  // namespace

std::string software_warning(const PlanFile& plan) {
  const std::string software = software_of(plan);
  if (software.empty() || software == kOwnSoftware) return "";
  const std::string place = plan.software_line > 0 ? fmt::format("{}:{}", plan.path, plan.software_line) : plan.path;
  return fmt::format(
      "[{}] the plan predicts the time and the memory of other software, got {}, expected {}; for this library: {}",
      place, software, kOwnSoftware, own_question(plan));
}

bool is_planned(std::string_view key) {
  constexpr std::array kKeys{"training.batch",
                             "ranks.count",
                             "plan.parallel",
                             "plan.search",
                             "plan.dataset_strategy",
                             "plan.micro_batches",
                             "plan.stages",
                             "plan.stage",
                             "plan.order",
                             "plan.interleave",
                             "plan.recompute",
                             "plan.recompute_layers",
                             "plan.zero",
                             "plan.tensor_parallel",
                             "plan.context_parallel",
                             "plan.sequence_parallel",
                             "plan.shard"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

}  // namespace partita
