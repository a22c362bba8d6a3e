// Trainings that take their compiled programs from the disk. They need a plugin for CPUs in PARTITA_PJRT_PLUGIN
// (tools/xla/get_plugin.sh).

#include <sys/stat.h>

#include <cstdlib>
#include <map>

#include "support/program.h"

namespace partita {
namespace {

/// A file of a cache: which one it is, and when it was used.
struct KeptProgram {
  ino_t number;
  int64_t used;  // ns
};

std::map<std::string, KeptProgram> kept_programs(const std::filesystem::path& folder) {
  std::map<std::string, KeptProgram> programs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    struct stat status {};
    EXPECT_EQ(::stat(entry.path().c_str(), &status), 0);
    programs[entry.path().filename().string()] = {
        status.st_ino, int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
  }
  return programs;
}

class KeptPrograms : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
    if (path == nullptr || *path == '\0') GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  }

  /// Trains three steps and returns the weights.
  std::string train(const std::string& cache, const std::vector<std::string>& more = {}) {
    const std::string weights = top_.path() / "weights.safetensors";
    std::vector<std::string> words{"train",    "gpt:layers=1,hidden=16,heads=2,seq=8,vocab=32",
                                   "--steps",  "3",
                                   "--batch",  "4",
                                   "--device", "xla:cpu",
                                   "--save",   weights};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words, [&] { ::setenv("PARTITA_CACHE", cache.c_str(), 1); });
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_FALSE(has_warning(outcome, "[cache]"));
    EXPECT_TRUE(outcome.lines.empty()) << outcome.lines[0];
    return read_text(weights);
  }

  const TempDir top_;
};

TEST_F(KeptPrograms, ASecondTrainingCompilesNothingAndHasTheSameBits) {
  const std::filesystem::path cache = top_.path() / "cache";
  const std::string without = train("off"), first = train(cache);
  const auto before = kept_programs(cache);
  EXPECT_GE(before.size(), 2u);
  const std::string second = train(cache);
  EXPECT_EQ(first, without);
  EXPECT_EQ(second, without);
  const auto after = kept_programs(cache);
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, program] : before) {
    EXPECT_EQ(after.at(name).number, program.number) << name << " was compiled anew";
    EXPECT_GT(after.at(name).used, program.used) << name << " was not used";
  }
}

// The programs of ranks that are threads are kept for any device of the plugin.
TEST_F(KeptPrograms, RanksOnSeveralDevicesTakeThem) {
  const std::filesystem::path cache = top_.path() / "cache";
  const std::string without = train("off", {"--ranks", "2"});
  EXPECT_EQ(train(cache, {"--ranks", "2"}), without);
  const size_t count = kept_programs(cache).size();
  EXPECT_EQ(train(cache, {"--ranks", "2"}), without);
  EXPECT_EQ(kept_programs(cache).size(), count);
}

TEST_F(KeptPrograms, DamageIsAWarning) {
  const std::filesystem::path cache = top_.path() / "cache";
  const std::string without = train(cache);
  const std::string name = kept_programs(cache).begin()->first;
  std::filesystem::resize_file(cache / name, std::filesystem::file_size(cache / name) / 2);
  const Outcome outcome = run_program(
      {"train", "gpt:layers=1,hidden=16,heads=2,seq=8,vocab=32", "--steps", "3", "--batch", "4", "--device", "xla:cpu"},
      [&] { ::setenv("PARTITA_CACHE", cache.c_str(), 1); });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(has_warning(outcome, "[cache] a kept program is compiled anew, got "));
  EXPECT_EQ(train(cache), without);
}

// The loader of libraries finds a name without a folder; its content cannot be read there.
TEST_F(KeptPrograms, APluginThatCannotBeReadIsAWarning) {
  const std::filesystem::path plugin = std::getenv("PARTITA_PJRT_PLUGIN"), cache = top_.path() / "cache";
  const Outcome outcome =
      run_program({"train", "mlp:hidden=8", "--steps", "1", "--no-eval", "--device", "xla:cpu"}, [&] {
        ::setenv("PARTITA_CACHE", cache.c_str(), 1);
        ::setenv("PARTITA_PJRT_PLUGIN", plugin.filename().c_str(), 1);
        ::setenv("LD_LIBRARY_PATH", plugin.parent_path().c_str(), 1);
      });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(has_warning(outcome, fmt::format("[cache] cannot read {}: No such file or directory; compiled programs "
                                               "are not kept",
                                               plugin.filename().string())));
  EXPECT_FALSE(std::filesystem::exists(cache));
}

}  // namespace
}  // namespace partita
