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

TEST(OptimizedPrograms, CountKernelsOutsideOfFusions) {
  const auto instruction = [](const std::string& opcode, const std::string& called = "") {
    return bytes_field(
        2, bytes_field(1, "n") + bytes_field(2, opcode) + (called.empty() ? std::string() : bytes_field(38, called)));
  };
  const auto computation = [](int id, const std::string& instructions) {
    return bytes_field(3, instructions + number_field(5, id));
  };
  const std::string module =
      bytes_field(1, "m") + computation(3, instruction("add") + instruction("fusion", "\x04")) +
      computation(4, instruction("custom-call")) + computation(5, instruction("fusion", "\x03")) +
      computation(6, instruction("while", "\x05") + instruction("fusion", "\x03") + instruction("custom-call"));
  EXPECT_EQ(count_kernels({"hlo", module}), (KernelCounts{.fused = 2, .library = 1}));
  EXPECT_EQ(count_kernels({"hlo_with_config", bytes_field(1, module)}), (KernelCounts{.fused = 2, .library = 1}));
  EXPECT_EQ(count_kernels({"mlir", module}), std::nullopt);
  EXPECT_EQ(count_kernels({"hlo", ""}), std::nullopt);
  for (const size_t size : {module.size() - 1, module.size() - 3}) {
    EXPECT_EQ(count_kernels({"hlo", module.substr(0, size)}), std::nullopt) << size;
  }
  // Fields of 8 and of 4 bytes are passed over; a group, and a number without an end, are malformed.
  const auto wide = [](int kind, size_t bytes) {
    return std::string(1, static_cast<char>(15 << 3 | kind)) + std::string(bytes, '\x07');
  };
  EXPECT_EQ(count_kernels({"hlo", wide(1, 8) + wide(5, 4) + module}), (KernelCounts{.fused = 2, .library = 1}));
  for (const std::string& begin : {wide(3, 0), std::string(1, '\x08') + std::string(10, '\xff')}) {
    EXPECT_EQ(count_kernels({"hlo", begin + module}), std::nullopt);
  }
}

}  // namespace
}  // namespace partita::pjrt
