// Names of accelerators and their plugins, without a plugin.

#include "runtime/device/xla/accelerator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/pjrt/test_fake_plugin.h"
#include "support/places.h"

namespace partita {
namespace {

constexpr std::string_view kVariables[] = {
    "PARTITA_PJRT_PLUGIN", "PYTHONPATH", "VIRTUAL_ENV", "HOME", "PATH", "XLA_FLAGS"};

/// Gives the variables that say where plugins are other values, and at the end those that they had.
class Accelerators : public testing::Test {
 protected:
  Accelerators() {
    for (const std::string_view name : kVariables) {
      const char* value = std::getenv(name.data());
      before_.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
    }
    ::unsetenv("PARTITA_PJRT_PLUGIN");
    ::unsetenv("VIRTUAL_ENV");
    ::unsetenv("XLA_FLAGS");
    search_packages_in({});
    set("HOME", empty_.path());
    set("PYTHONPATH", empty_.path());
  }
  ~Accelerators() override {
    search_packages_in({});
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i]) {
        ::setenv(kVariables[i].data(), before_[i]->c_str(), 1);
      } else {
        ::unsetenv(kVariables[i].data());
      }
    }
  }

  static void set(const char* name, const std::filesystem::path& value) { ::setenv(name, value.c_str(), 1); }

  /// Makes an empty file in new folders and returns its path.
  static std::string make_library(const std::filesystem::path& path) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream stream(path);
    return path.string();
  }

  const TempDir empty_, packages_;

 private:
  std::vector<std::optional<std::string>> before_;
};

/// Returns the message and the exit code of what an action throws.
std::string accelerator_error(const std::function<void()>& action) {
  try {
    action();
    return "none";
  } catch (const Error& error) {
    return fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
  }
}

TEST_F(Accelerators, NamesMayHaveAnIndex) {
  for (const std::string& name : accelerator_names()) {
    EXPECT_NO_THROW(require_accelerator(name));
    EXPECT_NO_THROW(require_accelerator(name + ":0"));
    EXPECT_NO_THROW(require_accelerator(name + ":9999"));
    EXPECT_EQ(device_kind(name), name);
    EXPECT_EQ(device_kind(name + ":1"), name);
  }
  EXPECT_EQ(device_kind("cpu"), "cpu");
}

TEST_F(Accelerators, OtherNamesAreRefused) {
  for (const std::string name : {"gpu", "cpu", "", "CUDA", "cuda0", "xla", "cuda:", "cuda:x", "cuda:-1", "cuda:0x1",
                                 "cuda: 1", "cuda:1:2", "cuda:99999", "xla:cpu:"}) {
    const std::string expected = fmt::format(
        "64: [device] a device that does not exist, got {}, expected cpu, xla:cpu, cuda, rocm, oneapi, tpu, or one of "
        "these with an index, as cuda:0",
        name);
    EXPECT_EQ(accelerator_error([&] { require_accelerator(name); }), expected);
    EXPECT_EQ(accelerator_error([&] { find_plugin(name); }), expected);
    EXPECT_EQ(accelerator_error([&] { Accelerator::open(name, 0); }), expected);
  }
}

// A thread of the plugin would delete the program otherwise, perhaps while the process exits.
TEST_F(Accelerators, AProgramIsReleasedByTheNextCompilation) {
  pjrt::FakePlugin fake;
  {
    const Accelerator accelerator = Accelerator::of(pjrt::Plugin(fake.table(), "fake.so").make_client(), 0);
    accelerator.compile("module {}").reset();
    const size_t kept = fake.alive.size();
    accelerator.compile("module { }").reset();
    EXPECT_EQ(fake.alive.size(), kept) << "one program is kept, not two";
    const auto used = accelerator.compile("module {  }");
    EXPECT_EQ(fake.alive.size(), kept);
  }
  EXPECT_TRUE(fake.alive.empty());
}

TEST_F(Accelerators, AMissingPluginSaysHowToInstallIt) {
  for (const auto& [name, package] : std::map<std::string, std::string>{{"xla:cpu", "fastatomstruct-xla-cpu"},
                                                                        {"cuda:1", "'jax[cuda13]'"},
                                                                        {"rocm", "jax-rocm7-pjrt"},
                                                                        {"oneapi", "jax-oneapi-pjrt"},
                                                                        {"tpu", "libtpu"}}) {
    std::string found;
    const std::string error = accelerator_error([&] { found = find_plugin(name); });
    if (found.starts_with("/usr/")) continue;  // the system has it
    const std::string vendor = name.starts_with("cuda") ? "cuda" : name;
    EXPECT_TRUE(error.starts_with(fmt::format("64: [device] no PJRT plugin for {}, got none of ", vendor))) << error;
    EXPECT_TRUE(
        error.ends_with(" folders of Python packages, expected its path in PARTITA_PJRT_PLUGIN, or: pip "
                        "install " +
                        package))
        << error;
  }
}

TEST_F(Accelerators, PluginsAreFoundInFoldersOfPackages) {
  const std::filesystem::path library = "jax_plugins/xla_rocm7/xla_rocm_plugin.so";
  const std::string user = make_library(empty_.path() / ".local/lib/python3.11/site-packages" / library);
  EXPECT_EQ(find_plugin("rocm"), user);
  const std::string active = make_library(packages_.path() / "env/lib/python3.12/dist-packages" / library);
  set("VIRTUAL_ENV", packages_.path() / "env");
  EXPECT_EQ(find_plugin("rocm"), active);
  const std::string given = make_library(packages_.path() / "given" / library);
  ::setenv("PYTHONPATH", fmt::format("{}:{}", empty_.path().string(), (packages_.path() / "given").string()).c_str(),
           1);
  EXPECT_EQ(find_plugin("rocm:1"), given);
  set("PARTITA_PJRT_PLUGIN", "/nowhere/plugin.so");
  EXPECT_EQ(find_plugin("rocm"), "/nowhere/plugin.so");
  ::setenv("PARTITA_PJRT_PLUGIN", "", 1);
  EXPECT_EQ(find_plugin("rocm"), given) << "an empty variable names none";
}

TEST_F(Accelerators, TheNewestPluginOfAFolderIsTaken) {
  const std::filesystem::path folder = packages_.path() / "jax_plugins";
  set("PYTHONPATH", packages_.path());
  const std::string older = make_library(folder / "xla_cuda12/xla_cuda_plugin.so");
  EXPECT_EQ(find_plugin("cuda"), older);
  const std::string newer = make_library(folder / "xla_cuda13/xla_cuda_plugin.so");
  EXPECT_EQ(find_plugin("cuda"), newer);
}

TEST_F(Accelerators, FoldersOfTheInterpreterComeFirst) {
  const std::filesystem::path library = "libtpu/libtpu.so";
  set("PYTHONPATH", packages_.path() / "path");
  make_library(packages_.path() / "path" / library);
  const std::string own = make_library(packages_.path() / "own" / library);
  search_packages_in({(packages_.path() / "none").string(), (packages_.path() / "own").string()});
  EXPECT_EQ(find_plugin("tpu"), own);
}

TEST_F(Accelerators, LibrariesOfNvidiaAreThoseOfThePluginsPackages) {
  const std::string plugin = make_library(packages_.path() / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  EXPECT_TRUE(nvidia_libraries(plugin).empty());
  const std::filesystem::path nvidia = packages_.path() / "nvidia";
  const std::string nccl = make_library(nvidia / "nccl/lib/libnccl.so.2");
  const std::string cudnn = make_library(nvidia / "cudnn/lib/libcudnn.so.9");
  make_library(nvidia / "cudnn/lib/libcudnn_ops.so.9");
  const std::string blas = make_library(nvidia / "cu13/lib/libcublas.so.13");
  const std::string light = make_library(nvidia / "cu13/lib/libcublasLt.so.13");
  make_library(nvidia / "cu13/lib/libcublas.so.13.1.2");
  make_library(nvidia / "cu12/lib/libcublas.so.12");
  EXPECT_EQ(nvidia_libraries(plugin), (std::vector<std::string>{light, blas, cudnn, nccl}));
}

TEST_F(Accelerators, LibrariesAreOpenedForThePlugin) {
  const std::string plugin = make_library(packages_.path() / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  make_library(packages_.path() / "nvidia/cu13/lib/libcudart.so.13");  // it cannot be opened
  const std::filesystem::path library = packages_.path() / "nvidia/nccl/lib/libnccl.so.2";
  std::filesystem::create_directories(library.parent_path());
  std::filesystem::copy_file(kLoadedLibrary, library);
  ASSERT_EQ(::dlsym(RTLD_DEFAULT, "partita_loaded_library"), nullptr);
  load_libraries(plugin);
  void* function = ::dlsym(RTLD_DEFAULT, "partita_loaded_library");
  ASSERT_NE(function, nullptr) << ::dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)()>(function)(), 42);
}

TEST_F(Accelerators, PtxasIsThatOfThePackagesOrInPath) {
  const std::string plugin = make_library(packages_.path() / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  set("PATH", empty_.path());
  EXPECT_EQ(cuda_data_folder(plugin), "");
  make_library(packages_.path() / "toolkit/bin/ptxas");
  ::setenv("PATH", fmt::format("{}:{}", empty_.path().string(), (packages_.path() / "toolkit/bin").string()).c_str(),
           1);
  EXPECT_EQ(cuda_data_folder(plugin), packages_.path() / "toolkit");
  make_library(packages_.path() / "nvidia/cu13/bin/ptxas");
  EXPECT_EQ(cuda_data_folder(plugin), packages_.path() / "nvidia/cu13");
}

TEST_F(Accelerators, CompilationsForGpusNameTheFolderOfPtxas) {
  const std::string plugin = make_library(packages_.path() / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  const std::string flag = "xla_gpu_cuda_data_dir";
  set("PATH", empty_.path());
  EXPECT_FALSE(compile_flags("cuda", plugin).contains(flag));
  make_library(packages_.path() / "nvidia/cu13/bin/ptxas");
  const pjrt::Flag expected = (packages_.path() / "nvidia/cu13").string();
  EXPECT_EQ(compile_flags("cuda", plugin).at(flag), expected);
  EXPECT_EQ(compile_flags("cuda:1", plugin).at(flag), expected);
  for (const std::string other : {"xla:cpu", "tpu", "rocm"}) EXPECT_FALSE(compile_flags(other, plugin).contains(flag));
  set("XLA_FLAGS", "--xla_gpu_autotune_level=0");
  EXPECT_EQ(compile_flags("cuda", plugin).at(flag), expected);
  set("XLA_FLAGS", "--xla_gpu_cuda_data_dir=/mine");
  EXPECT_FALSE(compile_flags("cuda", plugin).contains(flag));
}

TEST_F(Accelerators, CompilationsHaveTheFlagsThatDecideNumbersUnlessXlaFlagsDo) {
  const std::map<std::string, pjrt::Flag> rounds{{"xla_allow_excess_precision", false}};
  EXPECT_EQ(compile_flags("tpu", ""), rounds);
  const auto with = [&](const std::string& flag, pjrt::Flag value) {
    std::map<std::string, pjrt::Flag> flags = rounds;
    flags[flag] = std::move(value);
    return flags;
  };
  set("PATH", empty_.path());
  const std::string plugin = make_library(packages_.path() / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  const auto knows = [&](const std::vector<std::string>& names) {
    std::ofstream file(plugin);
    for (const std::string& name : names) file << name << '\0';
  };
  for (const std::string name : {"xla:cpu", "cuda", "rocm", "oneapi"})
    EXPECT_EQ(compile_flags(name, plugin), rounds) << "a plugin that does not know the flags of one device";
  knows({"xla_cpu_enable_fast_min_max", "xla_gpu_enable_fast_min_max"});
  EXPECT_EQ(compile_flags("xla:cpu", plugin), with("xla_cpu_enable_fast_min_max", false));
  const std::map<std::string, pjrt::Flag> on_gpu = with("xla_gpu_enable_fast_min_max", false);
  for (const std::string name : {"cuda", "rocm", "oneapi"}) EXPECT_EQ(compile_flags(name, plugin), on_gpu);
  knows({"xla_gpu_dot_merger_threshold_mb", "xla_gpu_enable_fast_min_max"});
  std::map<std::string, pjrt::Flag> and_merger = on_gpu;
  and_merger["xla_gpu_dot_merger_threshold_mb"] = int64_t{8};
  EXPECT_EQ(compile_flags("cuda", plugin), and_merger);
  set("XLA_FLAGS",
      "--xla_gpu_dot_merger_threshold_mb=32 --xla_allow_excess_precision --xla_gpu_enable_fast_min_max=true");
  EXPECT_TRUE(compile_flags("cuda", plugin).empty());
  // The flags may stand in a file, and one whose name only begins in the same way is another one.
  const std::string file = empty_.path() / "flags";
  set("XLA_FLAGS", file);
  std::ofstream(file) << "--xla_dump_to='/tmp/xla_allow_excess_precision'\n--xla_gpu_dot_merger_threshold_mb=32\n";
  EXPECT_EQ(compile_flags("cuda", plugin), on_gpu);
  std::ofstream(file) << "--xla_allow_excess_precision_of_mine --xla_gpu_dot_merger_threshold_mb=32";
  EXPECT_EQ(compile_flags("cuda", plugin), on_gpu);
  std::ofstream(file) << "--xla_allow_excess_precision=true --xla_cpu_enable_fast_min_max=true";
  EXPECT_EQ(compile_flags("xla:cpu", plugin), (std::map<std::string, pjrt::Flag>{}));
}

TEST_F(Accelerators, OneCommandInstallsWhatIsMissing) {
  const std::string root = packages_.path() / "root";
  EXPECT_EQ(device_remedy("xla:cpu", root), "pip install fastatomstruct-xla-cpu");
  search_packages_in({packages_.path().string()});
  make_library(packages_.path() / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  EXPECT_EQ(device_remedy("cuda", root), "apt-get install nvidia-driver, or in a container: docker run --gpus all");
  make_library(root + "/proc/driver/nvidia/version");
  EXPECT_EQ(device_remedy("cuda:1", root), "pip install --upgrade 'jax[cuda13]'");
  set("PARTITA_PJRT_PLUGIN", "none.so");
  EXPECT_EQ(device_remedy("cuda", root), "unset PARTITA_PJRT_PLUGIN");
}

TEST_F(Accelerators, ADeterministicGpuNeedsAFlagOfItsPlugin) {
  const std::string library = make_library(packages_.path() / "old.so");
  set("PARTITA_PJRT_PLUGIN", library);
  for (const char* name : {"cuda", "rocm:1"}) {
    EXPECT_EQ(accelerator_error([&] { Accelerator::open(name, 0, {.deterministic = true}); }),
              "64: [--deterministic] the plugin has no such flag, got " + library +
                  " without xla_gpu_deterministic_ops, expected one that has it, or no --deterministic");
  }
  for (const char* name : {"xla:cpu", "tpu"}) {  // a library that is no plugin
    const std::string error = accelerator_error([&] { Accelerator::open(name, 0, {.deterministic = true}); });
    EXPECT_TRUE(error.starts_with("64: [device] no PJRT plugin, got ")) << error;
  }
}

TEST_F(Accelerators, APluginThatCannotBeOpenedIsAnErrorOfUse) {
  const auto open = [] { Accelerator::open("oneapi", 0); };
  const std::string missing = (packages_.path() / "none.so").string();
  set("PARTITA_PJRT_PLUGIN", missing);
  std::string error = accelerator_error(open);
  EXPECT_TRUE(error.starts_with("64: [device] no PJRT plugin, got " + missing + ": cannot open")) << error;
  EXPECT_TRUE(error.ends_with(", expected the path of a plugin's library")) << error;
  set("PARTITA_PJRT_PLUGIN", make_library(packages_.path() / "empty.so"));
  error = accelerator_error(open);
  EXPECT_TRUE(error.starts_with("64: [device] no PJRT plugin, got ")) << error;
}

}  // namespace
}  // namespace partita
