// Trainings on a device that is not the processor, for which the plugin for CPUs stands in (tests/plugins/
// joined_plugin.cpp). They need that plugin in PARTITA_PJRT_PLUGIN (tools/xla/get_plugin.sh).

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/needs_plugin.h"
#include "support/program.h"

namespace partita {
namespace {

using OwnWords = std::vector<std::string>;

class OwnDevice : public NeedsPlugin {
 protected:
  /// Runs a command on the processor, or on a GPU for which it stands in, of which there are `devices`.
  static Outcome run(OwnWords words, const std::string& device, int devices = 4) {
    words.insert(words.end(), {"--device", device, "--threads", "1"});
    return run_program(words, [&] {
      if (device != "cuda") return;
      ::setenv("PARTITA_JOINED_PLUGIN", std::getenv("PARTITA_PJRT_PLUGIN"), 1);
      const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
      const std::string plugin = folder / "libjoined_plugin.so";
      ::setenv("PARTITA_PJRT_PLUGIN", plugin.c_str(), 1);
      ::setenv("PARTITA_JOINED_PLATFORM", "cuda", 1);
      ::setenv("PARTITA_JOINED_DEVICES", std::to_string(devices).c_str(), 1);
    });
  }
  /// Returns the steps and validations of a log, without times.
  static std::vector<std::string> steps_of(const std::filesystem::path& log) {
    std::vector<std::string> steps;
    std::istringstream lines(read_text(log));
    for (std::string line; std::getline(lines, line);) {
      auto step = nlohmann::json::parse(line);
      for (const char* measured :
           {"step_seconds", "samples_per_second", "exposed_communication_seconds", "memory_bytes"}) {
        step.erase(measured);
      }
      steps.push_back(step.dump());
    }
    return steps;
  }
};

struct OwnCase {
  std::string name;
  OwnWords words;
};

// The device gets the rows of a step while it computes the one before. Losses, validations and scales stay the same.
TEST_F(OwnDevice, TrainsAsTheProcessorDoes) {
  const std::vector<OwnCase> cases{
      {"epochs", {"mlp:hidden=8", "--batch", "1500", "--epochs", "3"}},
      {"validations", {"mlp:hidden=8", "--batch", "1500", "--epochs", "3", "--validate"}},
      {"ranks", {"lenet", "--batch", "8", "--steps", "5", "--ranks", "2"}},
      {"uneven ranks", {"mlp:hidden=8", "--batch", "7", "--steps", "5", "--ranks", "3", "--parallel", "hybrid"}},
      {"micro-batches", {"mlp:hidden=8", "--batch", "8", "--steps", "5", "--ranks", "2", "--micro-batches", "2"}},
      {"stages", {"mlp:hidden=8", "--batch", "8", "--steps", "5", "--ranks", "2", "--stages", "2"}},
      {"whole mode", {"mlp:hidden=8", "--batch", "8", "--steps", "5", "--ranks", "2", "--collectives", "whole"}},
      {"ids", {"gpt:layers=1,hidden=8,heads=2,seq=8", "--batch", "4", "--steps", "5", "--ranks", "2"}},
      {"bad steps",
       {"mlp:hidden=8", "--batch", "8", "--steps", "6", "--precision", "f16", "--loss-scaling", "dynamic",
        "--loss-scale", "1e9", "--loss-scale-factor", "64"}},
  };
  const TempDir folder;
  for (const OwnCase& one : cases) {
    SCOPED_TRACE(one.name);
    std::vector<std::vector<std::string>> steps;
    for (const std::string device : {"xla:cpu", "cuda"}) {
      const std::filesystem::path log = folder.path() / device;
      OwnWords words{"train"};
      words.insert(words.end(), one.words.begin(), one.words.end());
      words.insert(words.end(), {"--no-eval", "--quiet", "--log", log});
      const Outcome outcome = run(words, device);
      EXPECT_EQ(outcome.exit_code, 0) << (outcome.lines.empty() ? "" : outcome.lines.back());
      steps.push_back(steps_of(log));
    }
    EXPECT_EQ(steps[0], steps[1]);
    EXPECT_GE(steps[0].size(), 5U);
  }
}

// Prefetched rows change neither where a training goes on nor where it stops.
TEST_F(OwnDevice, GoesOnInTheMiddleOfAnEpoch) {
  const TempDir folder;
  const OwnWords job{"train", "mlp:hidden=8", "--batch", "1000", "--schedule-steps", "12", "--no-eval", "--quiet"};
  const auto with = [&](const OwnWords& more) {
    OwnWords words = job;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string whole = folder.path() / "whole", rest = folder.path() / "rest", saved = folder.path() / "saved";
  EXPECT_EQ(run(with({"--steps", "12", "--log", whole}), "cuda").exit_code, 0);
  EXPECT_EQ(run(with({"--steps", "7", "--checkpoint", saved}), "cuda").exit_code, 0);
  EXPECT_EQ(run(with({"--steps", "12", "--resume", saved, "--log", rest}), "cuda").exit_code, 0);
  const std::vector<std::string> all = steps_of(whole), last = steps_of(rest);
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(last, std::vector<std::string>(all.begin() + 7, all.end()));
}

// A traced training ends each step before the next one begins. Others do not: they have the same steps, end with the
// same step that is not finite, and write the same checkpoints.
TEST_F(OwnDevice, StepsInFlightChangeNothing) {
  const TempDir folder;
  const OwnWords job{"train", "mlp:hidden=8", "--batch", "1000", "--schedule-steps", "40", "--no-eval", "--quiet"};
  for (const std::string rate : {"0.05", "1e30"}) {
    std::vector<std::string> ends;
    std::vector<std::vector<std::string>> steps;
    for (const std::string how : {"waits", "ahead"}) {
      const std::string place = folder.path() / (how + rate);
      OwnWords words = job;
      words.insert(words.end(), {"--steps", "20", "--lr", rate, "--log", place + ".log", "--checkpoint", place,
                                 "--checkpoint-every", "6"});
      if (how == "waits") words.insert(words.end(), {"--trace", place + ".json", "--trace-steps", "20"});
      const Outcome outcome = run(words, "cuda");
      std::set<std::string> saved;
      ends.push_back(std::to_string(outcome.exit_code));
      for (const std::string& line : outcome.lines) {
        if (line.find("[train]") != std::string::npos) ends.back() += ", " + line;
      }
      steps.push_back(steps_of(place + ".log"));
      std::error_code missing;  // a training that ends before its first checkpoint has no folder
      for (const auto& entry : std::filesystem::directory_iterator(place, missing)) {
        if (entry.is_directory()) saved.insert(entry.path().filename().string());
      }
      for (const std::string& name : saved) ends.back() += ", " + name;
    }
    EXPECT_EQ(ends[0], ends[1]);
    EXPECT_EQ(steps[0], steps[1]);
    const std::string expected =
        rate == "0.05" ? ", step_12, step_18, step_20, step_6" : "[train] the loss is not finite";
    EXPECT_NE(ends[1].find(expected), std::string::npos) << ends[1];
    EXPECT_EQ(steps[0].size() == 20, rate == "0.05");
  }
}

TEST_F(OwnDevice, NamesTheFasterModesOnce) {
  const TempDir folder;
  const std::string weights = folder.path() / "w.safetensors";
  const OwnWords train{"train", "mlp:hidden=8", "--steps", "1", "--ranks", "2", "--save", weights};
  const std::string note = "[device] auto takes what has run on cuda, got --collectives cut, expected the same, or ";
  const auto notes = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0);
    return std::count_if(outcome.warnings.begin(), outcome.warnings.end(),
                         [&](const std::string& line) { return line.find(note) != std::string::npos; });
  };
  EXPECT_EQ(notes(run(train, "cuda")), 1);
  EXPECT_EQ(notes(run(train, "cuda", /*devices=*/1)), 0) << "they share one";
  OwnWords cut = train;
  cut.insert(cut.end(), {"--collectives", "cut"});
  EXPECT_EQ(notes(run(cut, "cuda")), 0) << "it was asked for";
  EXPECT_EQ(notes(run(train, "xla:cpu")), 0);
  EXPECT_EQ(notes(run({"eval", "mlp:hidden=8", "--ranks", "2", "--load", weights}, "cuda")), 0);
}

}  // namespace
}  // namespace partita
