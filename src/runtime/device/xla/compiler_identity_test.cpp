// The folder of kept programs, and what a compiler's identity has.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/device/xla/program_cache.h"
#include "runtime/pjrt/plugin.h"
#include "runtime/pjrt/test_fake_plugin.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using pjrt::FakePlugin;

void put_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Sets a variable, or unsets it, and restores it at the end.
class SetVariable {
 public:
  SetVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    value == nullptr ? ::unsetenv(name_.c_str()) : ::setenv(name_.c_str(), value, 1);
  }
  SetVariable& operator=(SetVariable&&) = delete;
  ~SetVariable() { before_ ? ::setenv(name_.c_str(), before_->c_str(), 1) : ::unsetenv(name_.c_str()); }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

TEST(ProgramFolder, IsThatOfTheVariables) {
  const SetVariable home("HOME", "/home/of"), base("XDG_CACHE_HOME", nullptr), given("PARTITA_CACHE", nullptr);
  EXPECT_EQ(program_folder(), "/home/of/.cache/partita/programs");
  const SetVariable relative("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(program_folder(), "/home/of/.cache/partita/programs");
  const SetVariable absolute("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(program_folder(), "/caches/partita/programs");
  const SetVariable empty("PARTITA_CACHE", "");
  EXPECT_EQ(program_folder(), "/caches/partita/programs");
  const SetVariable own("PARTITA_CACHE", "/own");
  EXPECT_EQ(program_folder(), "/own");
  for (const char* wrong : {"OFF", "0", " ", "~/cache", "cache", "./cache"}) {
    const SetVariable named("PARTITA_CACHE", wrong);
    try {
      program_folder();
      FAIL() << wrong;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(
          std::string(error.what()),
          fmt::format("[cache] PARTITA_CACHE names no folder, got '{}', expected an absolute path, or off", wrong));
    }
  }
  const SetVariable off("PARTITA_CACHE", "off");
  EXPECT_EQ(program_folder(), "");
  const SetVariable unset("PARTITA_CACHE", nullptr), no_base("XDG_CACHE_HOME", nullptr), no_home("HOME", nullptr);
  EXPECT_EQ(program_folder(), "");
}

TEST(CompilerIdentity, ChangesWithWhateverTheCompilerReads) {
  const SetVariable none("XLA_FLAGS", nullptr), no_tpu("LIBTPU_INIT_ARGS", nullptr);
  FakePlugin fake;
  const pjrt::Client client = pjrt::Plugin(fake.table(), "fake.so").make_client();
  const TempDir folder;
  const std::string plugin = (folder.path() / "plugin.so").string(), results = (folder.path() / "results").string();
  put_text(plugin, "one");
  put_text(results, "times");
  const std::string first = compiler_identity(client, plugin);
  for (const std::string part : {"\nplatform fake\nfake 1\n", "\ninterface 0.90\n", "\ndevices 2\nkind fake chip\n"}) {
    EXPECT_NE(first.find(part), std::string::npos) << first;
  }
  EXPECT_TRUE(first.starts_with("partita ")) << first;
  std::set<std::string> seen{first};
  // Size and time stay the same, as they do if a plugin is built anew and unpacked with its old date.
  const auto time = fs::last_write_time(plugin);
  put_text(plugin, "two");
  fs::last_write_time(plugin, time);
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second);
  const std::string flag = "--xla_gpu_load_autotune_results_from=" + results;
  const SetVariable flags("XLA_FLAGS", flag.c_str());
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second);
  put_text(results, "other");
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second) << "the content of a flag's file";
  const SetVariable file("XLA_FLAGS", results.c_str());
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second) << "a file of flags";
  put_text(results, "flags");
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second);
  // A file with a space in its name, which a file of flags names in quotes.
  const std::string inner = (folder.path() / "more results").string();
  put_text(results, "--xla_gpu_load_autotune_results_from='" + inner + "'");
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second);
  put_text(inner, "times");
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second) << "a file that a file of flags names";
  put_text(inner, "other");
  EXPECT_TRUE(seen.insert(compiler_identity(client, plugin)).second);
  EXPECT_EQ(compiler_identity(client, plugin), compiler_identity(client, plugin));
  expect_error<MissingFile>([&] { compiler_identity(client, (folder.path() / "none.so").string()); },
                            "[cache] cannot read " + (folder.path() / "none.so").string());
}

// The libraries of NVIDIA are next to the plugin's package; only sizes and times of such large files are read.
TEST(CompilerIdentity, OfGpusHasTheLibraries) {
  FakePlugin fake;
  fake.platform = "cuda";
  const pjrt::Client client = pjrt::Plugin(fake.table(), "fake.so").make_client();
  const TempDir folder;
  const fs::path plugin = folder.path() / "jax_plugins/xla_cuda13/plugin.so";
  const fs::path library = folder.path() / "nvidia/cudnn/lib/libcudnn.so.9";
  for (const fs::path& file : {plugin, library}) {
    fs::create_directories(file.parent_path());
    put_text(file, "one");
  }
  const std::string first = compiler_identity(client, plugin);
  EXPECT_NE(first.find(fmt::format("library {} 3 ", library.string())), std::string::npos) << first;
  put_text(library, "other");
  EXPECT_NE(compiler_identity(client, plugin), first);
}

TEST(CompilerIdentity, OfCpusHasTheProcessor) {
  FakePlugin fake;
  fake.platform = "cpu";
  const pjrt::Client client = pjrt::Plugin(fake.table(), "fake.so").make_client();
  const TempDir folder;
  const std::string plugin = (folder.path() / "plugin.so").string(), info = (folder.path() / "cpuinfo").string();
  put_text(plugin, "one");
  const auto identity = [&](const std::string& text) {
    put_text(info, text);
    return compiler_identity(client, plugin, info);
  };
  const std::string one =
      identity("processor\t: 0\nmodel name\t: A\ncpu MHz\t\t: 1\nflags\t\t: sse avx\n\nprocessor\t: 1\n");
  EXPECT_NE(one.find("model name\t: A\nflags\t\t: sse avx\ncores "), std::string::npos) << one;
  EXPECT_EQ(identity("processor\t: 3\nmodel name\t: A\ncpu MHz\t\t: 2\nflags\t\t: sse avx\n\n"), one);
  EXPECT_NE(identity("processor\t: 0\nmodel name\t: A\nflags\t\t: sse avx avx2\n"), one);
  EXPECT_NE(identity("processor\t: 0\nFeatures\t: asimd sve\n").find("Features\t: asimd sve\n"), std::string::npos);
  EXPECT_EQ(identity("nothing\n"), "");
  EXPECT_NE(compiler_identity(client, plugin), "") << "this machine says what it has";
}

}  // namespace
}  // namespace partita
