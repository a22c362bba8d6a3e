// Programs of users set locales. All that is read and printed stays the same.

#include <clocale>
#include <map>

#include "base/bounded_json.h"
#include "compiler/emit/rank_programs.h"
#include "ir/ops/registry.h"
#include "job/toml.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "planner/plan_file/plan_file.h"
#include "planner/planner.h"
#include "runtime/launch/fingerprint.h"
#include "support/foreign_locale.h"
#include "support/program.h"
#include "training/test_training.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

using Texts = std::map<std::string, std::string>;

/// Returns `text` with digits after `begin` replaced, as times differ from run to run.
std::string without_times(std::string text, const std::string& begin) {
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    size_t end = at + begin.size();
    while (end < text.size() && text.find_first_of("0123456789.,e-", end) == end) ++end;
    text.replace(at + begin.size(), end - at - begin.size(), "T");
  }
  return text;
}

Texts texts_of_files() {
  Texts texts;
  JobConfig config = make_model("lenet").recipe;
  config.training.batch = 12345;
  config.schedule.learning_rate = 0.0012345;
  config.files.checkpoint_seconds = 1234.5;
  JobConfig again;
  assign(again, parse_config(print(config), "config.toml"));
  texts["configuration"] = print(again);
  for (const std::string& name : preset_names()) {
    const Cluster cluster = cluster_named(name);
    const Cluster read = parse_cluster(print(cluster), "cluster.toml");
    texts["cluster " + name] = print(read) + (read == cluster ? "" : " was read as another one");
  }
  const nlohmann::json json = parse_bounded_json("[0.5, -2.25e3, 1234567.125, 12345]");
  texts["json"] = fmt::format("{} {}", json.dump(), json[2].get<double>());
  return texts;
}

Texts texts_of_plans() {
  Texts texts;
  const PlannedJob job =
      plan({.model = "gpt:layers=2,hidden=64,heads=2,seq=32", .cluster = "a100-80:1", .batch = 4096});
  const std::string file = print(plan_file_of(job));
  texts["plan"] = print(job.priced) + print_layers(job);
  texts["plan as JSON"] = without_times(to_json(job.priced), "search_seconds\": ");
  texts["page of a plan"] = plan_page(job);
  texts["plan file"] = file + print(parse_plan_file(file, "plan.txt"));
  JobConfig config = make_model("mlp:hidden=1024,dropout=0.25").recipe;
  config.ranks.count = 2;
  const Program program = ZooJob(config, Place{.cores = 1}).program(Purpose::training);
  texts["graph"] = print(parse_graph(print(program.graph), all_ops()));
  const StageProgram& stage = program.stages.front();
  texts["plan of cuts"] = print(stage.plan, stage.graph, all_ops());
  texts["local graph"] = print(stage.local, all_ops());
  for (const RankProgram& one :
       programs_of_rank(program.pipeline, program.stages, all_ops(), 0, CollectiveMode::cut).programs) {
    texts["StableHLO"] += one.text;
  }
  return texts;
}

/// Trains, with early stopping, saves, and resumes.
Texts texts_of_trainings() {
  Texts texts;
  const TempDir folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  JobConfig config = small_config(2);
  config.files.checkpoint = path("run");
  config.files.log = path("log.jsonl");
  config.files.trace = path("trace.json");
  config.schedule.learning_rate = 0.0012345;
  config.schedule.steps = 12;
  std::ostringstream printed;
  LossMonitor losses(printed, 1);
  ValidationMonitor validation(printed);
  EarlyStopping stopping({.patience = 1, .min_delta = 1e6}, printed);
  const FitOptions fit{
      .epochs = 2, .validation = rows_of(Split::test), .callbacks = {&losses, &validation, &stopping}, .prints = false};
  Model(small_network(), config, Place{.cores = 2}).train(rows_of(Split::train), fit);
  const std::string saved = stopping.saved();
  config.files.resume = path("run");
  FitOptions more = fit;
  more.epochs = 3;
  Model resumed(small_network(), config, Place{.cores = 2});
  resumed.train(rows_of(Split::train), more);
  texts["printed"] = printed.str();
  texts["state of early stopping"] = saved;
  std::string log = read_text(path("log.jsonl"));
  for (const char* times : {"_seconds\":", "_second\":", "memory_bytes\":"}) log = without_times(log, times);
  // The memory is measured from time to time.
  constexpr std::string_view kMemory = "\"memory_bytes\":T";
  for (size_t at = log.find(kMemory); at != std::string::npos; at = log.find(kMemory)) log.erase(at, kMemory.size());
  texts["log"] = log;
  texts["trace"] = nlohmann::json::accept(read_text(path("trace.json"))) ? "JSON" : read_text(path("trace.json"));
  texts["weights"] = print_digest(digest_of(resumed.states()));
  return texts;
}

class InLocale : public testing::TestWithParam<std::string> {
 protected:
  void expect_same(Texts (*texts)()) {
    const Texts expected = texts();
    const ForeignLocale locale(GetParam());
    if (!locale.is_set()) GTEST_SKIP() << "the system has no locale " << GetParam() << ", nor localedef to make it";
    if (!GetParam().empty()) {
      ASSERT_STRNE(std::localeconv()->decimal_point, ".") << "a locale that shows no fault";
    }
    const Texts found = texts();
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [name, text] : expected) EXPECT_EQ(found.at(name), text) << name;
  }
};

TEST_P(InLocale, FilesStay) { expect_same(texts_of_files); }
TEST_P(InLocale, PlansStay) { expect_same(texts_of_plans); }
TEST_P(InLocale, TrainingsStay) { expect_same(texts_of_trainings); }

// The decimal point of ps_AF has two bytes.
INSTANTIATE_TEST_SUITE_P(Locales, InLocale, testing::Values("", "de_DE", "ps_AF"),
                         [](const auto& info) { return info.param.empty() ? "OfStreams" : info.param; });

}  // namespace
}  // namespace partita
