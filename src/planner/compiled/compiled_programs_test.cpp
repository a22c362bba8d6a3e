// Compilation of programs by a plugin of a few lines, and what is printed of it.

#include "planner/compiled/compiled_programs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/pjrt/test_fake_plugin.h"

namespace partita {
namespace {

pjrt::Target fake_target() {
  return {.name = "chip", .accelerator = "fake", .chip = "Fake 1", .memory = 256, .topology = "chip:1x1"};
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

RankProgram small_program() {
  RankProgram program;
  program.first = "a";
  program.last = "b";
  program.ops = 3;
  program.text = "module {}";
  return program;
}

/// A plugin of a few lines, its chip, and a folder for programs.
class CompiledPrograms : public testing::Test {
 protected:
  pjrt::FakePlugin fake;
  const TempDir folder;
  const pjrt::Target target = fake_target();
  const pjrt::Plugin plugin{fake.table(), "fake.so"};
  const pjrt::Topology topology = topology_of(plugin, target);
};

TEST_F(CompiledPrograms, AreWrittenToTheFolder) {
  const CompiledProgram one = compile_program(topology, target, 0, small_program(), 7, folder.path());
  EXPECT_EQ(text_of_file(folder.path() / "program_7.mlir"), "module {}");
  EXPECT_EQ(text_of_file(folder.path() / "program_7.hlo.pb"), "optimised");
  EXPECT_EQ(one.optimized_file, "program_7.hlo.pb");
  EXPECT_EQ(one.memory.temporaries, 64);
  EXPECT_FALSE(one.kernels) << "the bytes are no module";
  EXPECT_EQ(compile_program(topology, target, 0, small_program(), 8, "").text_file, "");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "program_8.mlir"));
}

TEST_F(CompiledPrograms, SeveralChipsAreThoseOfGpus) {
  try {
    topology_of(plugin, target, 2);
    FAIL() << "a topology that nobody gave";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[--target] programs for several chips, got 2 of chip, expected GPUs, or --collectives cut");
  }
  pjrt::Target gpus = target;
  gpus.options = {{"topology", "1x1x1"}};
  const pjrt::Topology two = topology_of(plugin, gpus, 2);
  RankProgram program = small_program();
  program.replicas = 2;
  EXPECT_EQ(compile_program(two, gpus, 0, program, 0, "").memory.temporaries, 64);
}

TEST_F(CompiledPrograms, ARefusedProgramIsKept) {
  for (const auto& [code, exit, begin] :
       {std::tuple(pjrt::ErrorCode::unavailable, ExitCode::internal,
                   "[device] fake.so: PJRT_Compile failed with code 14: as the test wants"),
        std::tuple(pjrt::ErrorCode::resource_exhausted, ExitCode::out_of_memory,
                   "[memory] out of memory: the device: as the test wants")}) {
    fake.failing[pjrt::Function::compile] = code;
    for (const std::string& out : {folder.path().string(), std::string()}) {
      try {
        compile_program(topology, target, 0, small_program(), 3, out);
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), exit);
        const std::string text = error.what(), prefix = fmt::format("{}; the program is in ", begin);
        ASSERT_TRUE(text.starts_with(prefix)) << text;
        const std::string path = text.substr(prefix.size());
        EXPECT_EQ(text_of_file(path), "module {}");
        if (out.empty()) std::filesystem::remove(path);
      }
    }
  }
}

TEST_F(CompiledPrograms, ArePrintedWithTheirSum) {
  CompiledJob job{.model = "mlp", .plugin = "0.90", .target = target};
  constexpr int64_t kMiB = 1 << 20;
  for (const int64_t i : {1, 2}) {
    job.programs.push_back({.rank = i - 1,
                            .program = small_program(),
                            .memory = {.arguments = 4 * i * kMiB,
                                       .outputs = 2 * kMiB,
                                       .aliased = kMiB,
                                       .temporaries = 8 * kMiB,
                                       .code = kMiB / 2},
                            .kernels = pjrt::KernelCounts{.fused = 10 * i, .library = i, .executed = 100 * i},
                            .seconds = 1.5});
  }
  job.messages = 5;
  job.sent = 3;
  job.modes.attention = AttentionMode::fused;
  EXPECT_EQ(job.largest().bytes(), 17 * kMiB);
  const std::string table = print_table(job);
  EXPECT_NE(table.find("mlp for chip (Fake 1, "), std::string::npos) << table;
  EXPECT_NE(table.find("; collectives cut, attention fused; memory in MiB\n"), std::string::npos) << table;
  EXPECT_NE(
      table.find("    sum                     6       12.0        4.0        2.0        16.0      1.0     30       "
                 "3      300      3.0"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("a to b\n"), std::string::npos) << table;
  EXPECT_NE(table.find("on the host: 0 ops, 5 messages; values sent to other stages: 3\n"), std::string::npos) << table;
  const auto json = nlohmann::json::parse(to_json(job));
  EXPECT_EQ(json["sum"]["temporaries"], 16 * kMiB);
  EXPECT_EQ(json["sum"]["fused_kernels"], 30);
  EXPECT_EQ(json["sum"]["executed_kernels"], 300);
  EXPECT_EQ(json["collectives"], "cut");
  EXPECT_EQ(json["attention"], "fused");
  EXPECT_EQ(json["sent"], 3);
  EXPECT_EQ(json["programs"][1]["executed_kernels"], 200);
  EXPECT_EQ(table.find("loops"), std::string::npos);
  job.programs[1].kernels->unknown_loops = 2;
  EXPECT_NE(print_table(job).find("loops whose passes are not known, which count as one pass: 2\n"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(job))["sum"]["unknown_loops"], 2);
  EXPECT_EQ(json["programs"][1]["rank"], 1);
  EXPECT_EQ(json["largest_program"], 17 * kMiB);
  job.programs[0].kernels.reset();
  EXPECT_NE(print_table(job).find(" ? "), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(to_json(job))["sum"]["fused_kernels"].is_null());
}

TEST_F(CompiledPrograms, TheStepIsThatOfTheRankWithTheMostBytes) {
  CompiledJob job{.model = "net", .plugin = "0.90", .target = target};
  EXPECT_EQ(nlohmann::json::parse(to_json(job)).count("step"), 0U);
  for (const int64_t values : {40, 70, 10}) {
    RankProgram program = small_program();
    program.held = {.states = 100, .values = values};
    const auto rank = static_cast<int64_t>(job.programs.size());
    job.programs.push_back(compile_program(topology, target, rank, std::move(program), 0, ""));
  }
  const nlohmann::json step = nlohmann::json::parse(to_json(job)).at("step");
  EXPECT_EQ(step,
            (nlohmann::json{
                {"rank", 1}, {"program", 1}, {"bytes", 234}, {"states", 100}, {"values", 70}, {"temporaries", 64}}));
  EXPECT_NE(print_table(job).find("\npeak of the step: 234 bytes (91.4 % of the chip) on rank 1 in program 1, with 100 "
                                  "bytes of states, 70 bytes of values that are kept between programs, and 64 bytes of "
                                  "temporaries\n"),
            std::string::npos)
      << print_table(job);
}

}  // namespace
}  // namespace partita
