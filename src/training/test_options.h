#pragma once
// A fixture for tests of a job's options: trains with some of them set, and returns where their effect shows.

#include <gtest/gtest.h>

#include <fstream>

#include "frontend/data/readers/test_files.h"
#include "frontend/network/layers/layers.h"
#include "job/options.h"
#include "support/matches.h"
#include "training/model.h"
#include "training/test_printed.h"
#include "training/test_training.h"
#include "zoo/zoo_job.h"

namespace partita {

namespace fs = std::filesystem;

constexpr int64_t kFileRows = 96;

/// Where the effect of an option shows.
enum class Seen { losses, program, passes, printed, files, files_of_steps, metrics, warnings, evaluation, error };

/// Observed results of a training, as a program can see them.
using Observation = std::map<Seen, std::string>;

using Texts = std::vector<std::pair<std::string, std::vector<std::string>>>;  // key, values

struct OptionCase {
  std::string key;
  std::vector<std::string> values;
  Seen seen;
  Texts others{};          // options of both trainings
  bool has_norm = false;   // uses a network in code with a batch norm
  std::string contains{};  // expected text of the observation with the option
};

/// Writes images and their classes to NumPy files. The test rows are the same.
inline std::string write_rows(const fs::path& folder, int64_t side = 8, int shift = 0) {
  const auto write = [&](const std::string& name, const Bytes& bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return (folder / name).string();
  };
  Bytes pixels(static_cast<size_t>(kFileRows * side * side)), labels(static_cast<size_t>(kFileRows * 4));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37 % 251 + i / 64 * 11);
  for (size_t row = 0; row < labels.size() / 4; ++row) labels[4 * row] = static_cast<uint8_t>((row + shift) % 4);
  const std::string x =
      write(fmt::format("x{}.npy", shift), npy("|u1", fmt::format("({},{},{})", kFileRows, side, side), pixels));
  const std::string y = write(fmt::format("y{}.npy", shift), npy("<i4", fmt::format("({},)", kFileRows), labels));
  return fmt::format("npy:{0},{1},{0},{1}", x, y);
}

inline std::string list_files(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), folder).string());
  }
  return fmt::format("{}", fmt::join(names, "\n"));
}

inline std::string read_text(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Records losses and files of steps.
class EffectRecorder : public Callback {
 public:
  EffectRecorder(Observation& seen, fs::path folder) : seen_(seen), folder_(std::move(folder)) {}
  void on_train_begin(const TrainInfo& info) override {
    const Program& program = *info.program;
    seen_[Seen::program] = print(program.graph) + print(program.pipeline.sequence, program.pipeline.shape) +
                           print_stages(program.pipeline, program.stages, [](const StageProgram& stage) {
                             return print(stage.plan, stage.graph, all_ops()) + print(stage.schedule, stage.local);
                           });
  }
  void on_step_end(const StepInfo& info) override {
    seen_[Seen::losses] += fmt::format("{:.17g} at {:.17g}\n", info.loss, info.learning_rate);
    seen_[Seen::files_of_steps] += list_files(folder_) + "\n--\n";
  }

 private:
  Observation& seen_;
  fs::path folder_;
};

inline Network norm_network() {
  return {"norm", sequential({{"flatten", flatten()}, {"fc", dense(8)}, {"norm", batch_norm()}, {"out", dense(4)}})};
}

class ObeyedOptions : public testing::Test {
 protected:
  JobConfig config_of(const Texts& texts) const {
    JobConfig config = configured("mlp:hidden=8,layers=1,classes=4", {});
    config.training.batch = 24;
    config.training.epochs = 0;
    config.training.steps = 4;
    config.schedule = {.learning_rate = 0.1};
    config.ranks.threads = 1;
    config.console.per_print_times = 0;
    config.data.source = parse_data_source("rows", rows_);
    for (const auto& [key, values] : texts) {
      std::vector<std::string> put;
      for (const std::string& value : values) {
        put.push_back(replace_matches(value, "DIR", dir_.path().string()));
      }
      find_option(key).set(config, key, put);
    }
    if (config.model.starts_with("gpt")) config.data.source.reset();
    return config;
  }

  /// Trains and returns what was observed. Files that the training writes are removed.
  Observation observe(const Texts& texts, bool has_norm) const {
    const fs::path run = dir_.path() / "run";
    fs::create_directory(run);
    Observation seen;
    const Printed printed;
    EffectRecorder recorder(seen, run);
    try {
      JobConfig config = config_of(texts);
      if (has_norm) {
        config.model.clear();
        config.data.source.reset();
      }
      const Place place{.cores = 1};
      Model model = has_norm ? Model(norm_network(), config, place) : Model(config, place);
      model.on_warning([&](const std::string& message) { seen[Seen::warnings] += message + "\n"; });
      model.on_program([&](const std::string& text) {
        seen[text.starts_with("memory with") ? Seen::evaluation : Seen::passes] +=
            replace_matches(text, "[0-9]+\\.[0-9]+ s", "T s");
      });
      const FitOptions fit{.callbacks = {&recorder}};
      const TrainingEnd end = has_norm ? model.train(rows_of(Split::train), fit) : model.train(fit);
      if (end.test) {
        seen[Seen::metrics] = fmt::format("{} {} in top {} of {}, loss {:.17g}", end.test->correct,
                                          end.test->correct_in_top, end.test->top, end.test->samples, end.test->loss);
        for (const Measured& one : end.test->measured) seen[Seen::metrics] += " " + one.name;
      }
      if (!end.checkpoint_error.empty()) seen[Seen::warnings] += end.checkpoint_error;
    } catch (const Error& error) {
      seen[Seen::error] = error.what();
    }
    seen[Seen::printed] = printed.text();
    seen[Seen::files] = list_files(run);
    if (fs::exists(run / "trace.json")) seen[Seen::files] += trace_of(run / "trace.json");
    fs::remove_all(run);
    return seen;
  }

  /// Returns the names in the trace and their counts, without times.
  static std::string trace_of(const fs::path& path) {
    std::map<std::string, int> names;
    for (const Match& name : matches_of(read_text(path), "\"name\": ?\"([^\"]*)\"")) ++names[name.groups[1]];
    std::string shown;
    for (const auto& [one, count] : names) shown += fmt::format("\n{} {}", one, count);
    return shown;
  }

  const Observation& base(const Texts& texts, bool has_norm) {
    const auto at = std::pair(texts, has_norm);
    if (!bases_.contains(at)) bases_.emplace(at, observe(texts, has_norm));
    return bases_.at(at);
  }

  /// Expects that the option has the effect that its case names, or is refused as it says.
  void check(const OptionCase& one) {
    SCOPED_TRACE(one.key);
    const Observation& without = base(one.others, one.has_norm);
    Texts texts = one.others;
    texts.emplace_back(one.key, one.values);
    const Observation with = observe(texts, one.has_norm);
    const auto text = [](const Observation& seen, Seen what) {
      return seen.contains(what) ? seen.at(what) : std::string();
    };
    EXPECT_EQ(text(without, Seen::error), "") << "a training of the other options";
    if (one.seen != Seen::error) {
      EXPECT_EQ(text(with, Seen::error), "");
    }
    EXPECT_NE(text(with, one.seen), text(without, one.seen)) << "no effect";
    EXPECT_NE(text(with, one.seen).find(one.contains), std::string::npos) << text(with, one.seen);
  }

  const TempDir dir_;
  const std::string rows_ = write_rows(dir_.path());
  std::map<std::pair<Texts, bool>, Observation> bases_;
};

}  // namespace partita
