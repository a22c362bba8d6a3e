// Names of targets, and the kernels of optimised programs, without a plugin.

#include "runtime/pjrt/targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "runtime/pjrt/optimized_program.h"
#include "runtime/pjrt/test_fake_plugin.h"

namespace partita::pjrt {
namespace {

std::string target_error(const std::function<void()>& action) {
  try {
    action();
    return "none";
  } catch (const partita::Error& error) {
    return fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
  }
}

TEST(Targets, HaveDifferentNamesAndAllThatIsNeeded) {
  std::set<std::string> names, chips;
  for (const Target& target : targets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    EXPECT_TRUE(chips.insert(target.chip).second) << target.chip;
    EXPECT_EQ(&target_named(target.name), &target);
    EXPECT_GE(target.memory, int64_t{16} << 30);
    EXPECT_TRUE(target.accelerator == "cuda" ? target.options.contains("target_config") : !target.topology.empty());
  }
  EXPECT_EQ(target_named("a100").name, "a100-80");
  const std::string h100 = std::get<std::string>(target_named("h100").options.at("target_config"));
  EXPECT_NE(h100.find("core_count: 132 "), std::string::npos);
  EXPECT_NE(h100.find("{ major: 9 feature_extension: ACCELERATED_FEATURES }"), std::string::npos);
  EXPECT_EQ(std::ranges::count(h100, '{'), std::ranges::count(h100, '}'));
}

TEST(Targets, TpusHaveTheirOwnMachines) {
  std::set<std::string> types;
  for (const Target& target : targets()) {
    if (target.accelerator != "tpu") {
      EXPECT_TRUE(target.variables.empty()) << target.name;
      continue;
    }
    const std::string& type = target.variables.at("TPU_ACCELERATOR_TYPE");
    EXPECT_TRUE(types.insert(type).second) << type;
    EXPECT_TRUE(type.starts_with(target.name == "v5e" ? "v5litepod-" : target.name + "-")) << type;
  }
  EXPECT_EQ(types.size(), 3u);
}

TEST(Targets, OtherNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(target_error([] { target_named("h10"); }),
            "64: [--target] unknown chip, got 'h10', expected one of a100-40 a100-80 h100 h200 b200 v5e v5p v6e, did "
            "you mean 'h100'?");
  EXPECT_EQ(target_error([] { target_named("abacus"); }),
            "64: [--target] unknown chip, got 'abacus', expected one of a100-40 a100-80 h100 h200 b200 v5e v5p v6e");
}

TEST(Targets, NeedThePluginOfTheirPlatform) {
  FakePlugin fake;
  const Plugin plugin(fake.table(), "fake.so");
  EXPECT_EQ(target_error([&] { topology_of(plugin, target_named("h100")); }),
            "64: [--target] h100 needs another plugin, got one for fake, expected one for cuda");
  Target own = target_named("v5e");
  own.accelerator = "fake";
  EXPECT_EQ(topology_of(plugin, own).platform(), "fake");
  EXPECT_TRUE(fake.alive.empty());
}

TEST(Targets, NeedAPluginThatCompilesWithoutADevice) {
  FakePlugin fake;
  const Plugin plugin(fake.table(), "fake.so");
  fake.failing[Function::topology_create] = ErrorCode::unimplemented;
  EXPECT_EQ(target_error([&] { topology_of(plugin, target_named("v5e")); }),
            "64: [device] fake.so: the plugin does not know the topology, got code 12: as the test wants, expected "
            "chips that it knows");
  fake.remove(Function::topology_create);
  EXPECT_EQ(target_error([&] { topology_of(plugin, target_named("v5e")); }),
            "64: [device] fake.so: a plugin that is too old, got no PJRT_TopologyDescription_Create in version 0.90, "
            "expected one that has it");
}

std::string varint_text(size_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>((value & 127) | 128);
  return text + static_cast<char>(value);
}
/// A field of a message that is bytes, or one that is a small number.
std::string bytes_field(size_t number, const std::string& bytes) {
  return varint_text(number << 3 | 2) + varint_text(bytes.size()) + bytes;
}
std::string number_field(int number, int value) { return {static_cast<char>(number << 3), static_cast<char>(value)}; }

/// An instruction of a computation.
std::string instruction(const std::string& opcode, const std::vector<int>& called = {},
                        const std::string& config = "") {
  std::string text = bytes_field(1, "n") + bytes_field(2, opcode);
  std::string numbers;
  for (const int one : called) numbers += static_cast<char>(one);
  if (!called.empty()) text += bytes_field(38, numbers);
  if (!config.empty()) text += bytes_field(43, config);
  return bytes_field(2, text);
}
std::string loop(int body, int condition, const std::string& count) {
  return instruction("while", {body, condition}, "{\"known_trip_count\":{\"n\":" + count + "},\"a\":[1]}");
}
std::string computation(int id, const std::string& instructions) {
  return bytes_field(3, instructions + number_field(5, id));
}

TEST(OptimizedPrograms, CountKernelsOutsideOfFusions) {
  const std::string module =
      bytes_field(1, "m") + computation(3, instruction("add") + instruction("fusion", {4})) +
      computation(4, instruction("custom-call")) + computation(5, instruction("fusion", {3})) +
      computation(6, instruction("while", {5}) + instruction("fusion", {3}) + instruction("custom-call")) +
      bytes_field(7, "x") + std::string("\x30\x06");  // the entry, which is computation 6
  const KernelCounts expected{.fused = 2, .library = 1, .executed = 3, .unknown_loops = 1};
  EXPECT_EQ(count_kernels({"hlo", module}), expected);
  EXPECT_EQ(count_kernels({"hlo_with_config", bytes_field(1, module)}), expected);
  EXPECT_EQ(count_kernels({"mlir", module}), std::nullopt);
  EXPECT_EQ(count_kernels({"hlo", ""}), std::nullopt);
  const std::string cut_list = computation(6, bytes_field(2, bytes_field(2, "fusion") + bytes_field(38, "\x83")));
  EXPECT_EQ(count_kernels({"hlo", cut_list + std::string("\x30\x06")}), std::nullopt) << "a number without an end";
  EXPECT_EQ(count_kernels({"hlo", module.substr(0, module.size() - 1) + "\x09"}), std::nullopt) << "no such entry";
  for (const size_t size : {module.size() - 4, module.size() - 7}) {
    EXPECT_EQ(count_kernels({"hlo", module.substr(0, size)}), std::nullopt) << size;
  }
  // Fields of 8 and of 4 bytes are passed over; a group, and a number without an end, are malformed.
  const auto wide = [](int kind, size_t bytes) {
    return std::string(1, static_cast<char>(15 << 3 | kind)) + std::string(bytes, '\x07');
  };
  EXPECT_EQ(count_kernels({"hlo", wide(1, 8) + wide(5, 4) + module}), expected);
  for (const std::string& begin : {wide(3, 0), std::string(1, '\x08') + std::string(10, '\xff')}) {
    EXPECT_EQ(count_kernels({"hlo", begin + module}), std::nullopt);
  }
}

// A loop executes what its passes do one after another.
TEST(OptimizedPrograms, LoopsCountAsOftenAsTheyRun) {
  const std::string body = instruction("fusion", {9}) + instruction("custom-call") + instruction("copy");
  const std::string entry = std::string("\x30\x07");
  for (const int passes : {0, 1, 2, 12, 96}) {
    const std::string looped = computation(9, instruction("add")) + computation(1, body) + computation(2, "") +
                               computation(7, loop(1, 2, fmt::format("\"{}\"", passes)) + body);
    std::string unrolled;
    for (int i = 0; i <= passes; ++i) unrolled += body;
    const auto in_loop = count_kernels({"hlo", looped + entry});
    const auto in_text = count_kernels({"hlo", computation(9, instruction("add")) + computation(7, unrolled) + entry});
    ASSERT_TRUE(in_loop && in_text);
    EXPECT_EQ(in_loop->executed, in_text->executed);
    EXPECT_EQ(in_loop->executed, in_text->fused + in_text->library);
    EXPECT_EQ(in_loop->fused, 2);
    EXPECT_EQ(in_loop->unknown_loops, 0);
  }
  // Nested loops multiply; of the branches of a case the longest counts, calls count once.
  const std::string nested = computation(1, body) + computation(2, body + body + body) +
                             computation(3, loop(1, 9, "5")) +
                             computation(4, instruction("conditional", {1, 2, 3}) + instruction("call", {1})) +
                             computation(7, loop(4, 9, "\"3\"")) + entry;
  EXPECT_EQ(count_kernels({"hlo", nested})->executed, 3 * (2 * 5 + 2));
  // Counts that are no counts are unknown, and none is too large for a number.
  for (const std::string count : {"\"-3\"", "\"many\"", "1.5", "[]", "\"99999999999999999999\""}) {
    const auto counted = count_kernels({"hlo", computation(1, body) + computation(7, loop(1, 2, count)) + entry});
    EXPECT_EQ(counted->executed, 2) << count;
    EXPECT_EQ(counted->unknown_loops, 1) << count;
  }
  std::string deep = computation(1, body);
  for (int level = 2; level < 60; ++level) deep += computation(level, loop(level - 1, 0, "4294967295"));
  EXPECT_EQ(count_kernels({"hlo", deep + std::string("\x30\x3b")})->executed, int64_t{1} << 53);
  EXPECT_EQ(count_kernels({"hlo", computation(7, loop(7, 0, "3") + body) + entry})->executed, 2) << "it runs itself";
}

}  // namespace
}  // namespace partita::pjrt
