#include "runtime/device/xla/client_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

const Vendor& vendor_of(std::string_view name) { return *parse_accelerator(name).first; }

class ClientOptions : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* variable : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "XLA_FLAGS"})
      ::unsetenv(variable);
  }
  const OpenOptions alone_{};
  const OpenOptions third_of_four_{.collectives = CollectiveMode::whole,
                                   .process = JoinedProcess{.rank = 6, .count = 8, .on_host = 2}};
};

TEST_F(ClientOptions, AProcessAloneHasAllDevices) {
  EXPECT_EQ(client_options(vendor_of("cuda"), -1, alone_),
            (pjrt::NamedOptions{{"preallocate", false}, {"memory_fraction", 0.9F}}));
  EXPECT_EQ(client_options(vendor_of("rocm"), -1, {.memory = 0.5}),
            (pjrt::NamedOptions{{"preallocate", false}, {"memory_fraction", 0.5F}}));
  EXPECT_EQ(client_options(vendor_of("oneapi"), -1, {.memory = 0.5}), (pjrt::NamedOptions{{"preallocate", false}}));
  EXPECT_TRUE(client_options(vendor_of("xla:cpu"), -1, alone_).empty());
  EXPECT_TRUE(client_options(vendor_of("tpu"), -1, alone_).empty());
  EXPECT_EQ(client_options(vendor_of("xla:cpu"), -1, {.collectives = CollectiveMode::whole}),
            (pjrt::NamedOptions{{"cpu_device_count", kCpuDevices}}));
}

TEST_F(ClientOptions, OneOfSeveralProcessesHasItsPlaceAndOneDevice) {
  for (const std::string name : {"cuda", "rocm", "oneapi"}) {
    const auto options_of = [&](std::vector<int64_t> device) {
      pjrt::NamedOptions expected{{"preallocate", false},
                                  {"node_id", int64_t{6}},
                                  {"num_nodes", int64_t{8}},
                                  {"visible_devices", std::move(device)}};
      if (name != "oneapi") expected["memory_fraction"] = 0.9F;
      return expected;
    };
    EXPECT_EQ(client_options(vendor_of(name), -1, third_of_four_), options_of({2}));
    EXPECT_EQ(client_options(vendor_of(name), 1, third_of_four_), options_of({1}));
    const char* variable = name == "cuda"   ? "CUDA_VISIBLE_DEVICES"
                           : name == "rocm" ? "ROCR_VISIBLE_DEVICES"
                                            : "ZE_AFFINITY_MASK";
    ::setenv(variable, "4,5,6,7", 1);
    EXPECT_EQ(client_options(vendor_of(name), -1, third_of_four_), options_of({2}));
    ::setenv(variable, "6", 1);  // a launcher has given each process its device
    EXPECT_EQ(client_options(vendor_of(name), -1, third_of_four_), options_of({0}));
  }
  EXPECT_EQ(client_options(vendor_of("xla:cpu"), -1, third_of_four_),
            (pjrt::NamedOptions{{"cpu_device_count", int64_t{1}}, {"node_id", int64_t{6}}, {"num_nodes", int64_t{8}}}));
  EXPECT_TRUE(client_options(vendor_of("tpu"), -1, third_of_four_).empty());
}

TEST_F(ClientOptions, FlagsAreThosePluginsKnow) {
  const TempDir folder;
  const std::string plugin = folder.path() / "plugin.so";
  std::ofstream(plugin) << "xla_gpu_deterministic_ops" << '\0' << "xla_gpu_shard_autotuning" << '\0';
  const OpenOptions deterministic{.deterministic = true};
  for (const std::string name : {"cuda", "rocm", "xla:cpu", "tpu"}) {
    const bool is_gpu = name == "cuda" || name == "rocm";
    EXPECT_EQ(has_deterministic_flag(vendor_of(name)), is_gpu);
    EXPECT_EQ(program_flags(vendor_of(name), plugin, deterministic).count("xla_gpu_deterministic_ops"),
              is_gpu ? 1U : 0U);
    EXPECT_EQ(program_flags(vendor_of(name), plugin, alone_).count("xla_gpu_deterministic_ops"), 0U);
  }
  EXPECT_EQ(program_flags(vendor_of("cuda"), plugin, deterministic).at("xla_gpu_deterministic_ops"), pjrt::Flag(true));
  EXPECT_EQ(program_flags(vendor_of("cuda"), plugin, third_of_four_).at("xla_gpu_shard_autotuning"), pjrt::Flag(false));
  EXPECT_EQ(program_flags(vendor_of("cuda"), plugin, alone_).count("xla_gpu_shard_autotuning"), 0U);
  EXPECT_EQ(
      program_flags(vendor_of("cuda"), folder.path() / "none.so", third_of_four_).count("xla_gpu_shard_autotuning"),
      0U);
  ::setenv("XLA_FLAGS", "--xla_gpu_shard_autotuning=true", 1);
  EXPECT_EQ(program_flags(vendor_of("cuda"), plugin, third_of_four_).count("xla_gpu_shard_autotuning"), 0U)
      << "the user decides";
  ::unsetenv("XLA_FLAGS");
}

}  // namespace
}  // namespace partita
