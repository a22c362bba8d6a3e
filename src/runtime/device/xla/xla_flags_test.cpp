// Flags of XLA are checked by what a plugin's file contains.

#include "runtime/device/xla/xla_flags.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

TEST(XlaFlags, AreSplitAsXlaDoes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of_flags(""), Words());
  EXPECT_EQ(words_of_flags(" \t\n"), Words());
  EXPECT_EQ(words_of_flags(" --xla_a=1\n--xla_b "), (Words{"--xla_a=1", "--xla_b"}));
  EXPECT_EQ(words_of_flags("--xla_a='b c' --xla_d=\"e 'f\""), (Words{"--xla_a='b c'", "--xla_d=\"e 'f\""}));
  EXPECT_EQ(words_of_flags(R"(--xla_a="b\" c" --xla_d)"), (Words{R"(--xla_a="b\" c")", "--xla_d"}));
  EXPECT_EQ(words_of_flags(R"(--xla_a="b\)"), (Words{R"(--xla_a="b\)"})) << "a backslash at the end";
  EXPECT_EQ(words_of_flags("--xla_a='b c"), (Words{"--xla_a='b c"})) << "a quote without its end";
  EXPECT_EQ(words_of_flags("--xla_a=b'c d'"), (Words{"--xla_a=b'c", "d'"})) << "quotes stand after '='";
}

void put_flags(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// A file with names as a plugin has them, and XLA_FLAGS.
class KnownXlaFlags : public testing::Test {
 protected:
  KnownXlaFlags() {
    if (const char* given = std::getenv("XLA_FLAGS")) before_ = given;
    const std::string bytes("\0xla_dump_to\0xla_gpu_autotune_level\0xla_cut", 43);
    put_flags(plugin_, std::string(5000, 'x') + bytes);
  }
  ~KnownXlaFlags() override {
    if (before_) ::setenv("XLA_FLAGS", before_->c_str(), 1);
    if (!before_) ::unsetenv("XLA_FLAGS");
  }

  /// Returns what is passed on, or the message of a refusal.
  std::string outcome_of(const std::string& flags, std::string_view device = "cuda") {
    ::setenv("XLA_FLAGS", flags.c_str(), 1);
    try {
      return require_known_flags(device, plugin_);
    } catch (const RuntimeFailure& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
  }

  std::string refusal_of(const std::string& got, const std::string& expected) const {
    return "[device] XLA_FLAGS has a flag that the plugin does not know, got '" + got + "', expected " + expected;
  }

  const TempDir folder_;
  const std::string plugin_ = (folder_.path() / "plugin.so").string();

 private:
  std::optional<std::string> before_;
};

TEST_F(KnownXlaFlags, ArePassedOn) {
  for (const std::string flags : {"--xla_dump_to=/tmp", "--xla_gpu_autotune_level --xla_dump_to='a --b'"}) {
    EXPECT_EQ(outcome_of(flags), flags);
  }
  ::unsetenv("XLA_FLAGS");
  EXPECT_EQ(require_known_flags("cuda", plugin_), "");
  EXPECT_EQ(outcome_of(""), "");
}

TEST_F(KnownXlaFlags, OthersAreRefused) {
  EXPECT_EQ(outcome_of("--xla_dump_to=/tmp --nonsense=3"), refusal_of("--nonsense=3", "a flag named in " + plugin_));
  EXPECT_EQ(outcome_of("--xla_dmp_to"),
            refusal_of("--xla_dmp_to", "a flag named in " + plugin_ + ", did you mean 'xla_dump_to'?"));
  EXPECT_EQ(outcome_of("--xla_gpu"),
            refusal_of("--xla_gpu", "a flag named in " + plugin_ + ", did you mean 'xla_gpu_autotune_level'?"))
      << "a part of a name";
  EXPECT_EQ(outcome_of("--"), refusal_of("--", "a flag named in " + plugin_));
  EXPECT_EQ(outcome_of("-xla_dump_to=1"), refusal_of("-xla_dump_to=1", "flags that begin with '--'"));
}

TEST_F(KnownXlaFlags, MayStandInAFile) {
  const std::string path = folder_.path() / "flags";
  put_flags(path, "--xla_dump_to=/tmp\n--xla_gpu_autotune_level=0\n");
  EXPECT_EQ(outcome_of(path), path);
  put_flags(path, "--xla_dump_to=/tmp\n--nonsense\n");
  EXPECT_EQ(outcome_of(path), refusal_of("--nonsense", "a flag named in " + plugin_));
  for (const std::string& other : {std::string("xla_dump_to=1"), std::string("  "), path + " "}) {
    EXPECT_EQ(outcome_of(other), "[device] XLA_FLAGS names a file that cannot be read, got '" + other +
                                     "', expected flags that begin with '--', or a file of them");
  }
}

// Names are found wherever they stand, in the variable or in a file, and no name within another one or within a value.
TEST_F(KnownXlaFlags, AreNamedAsTheUserGaveThem) {
  const std::string path = folder_.path() / "flags";
  std::mt19937 random(3);
  const std::vector<std::string> names{"xla_a", "xla_a_b", "xla_b", "b_xla_a", "xla_cpu_c", "xla_cpu"};
  const std::vector<std::string> values{"",        "=1", "=--xla_b", "='x --xla_b y'", "=\"--xla_a \\\" --xla_cpu\"",
                                        "=xla_a=2"};
  for (int i = 0; i < 200; ++i) {
    std::set<std::string, std::less<>> expected;
    std::string text = random() % 2 == 0 ? "" : " \n";
    for (const std::string& name : names) {
      if (random() % 3 != 0) continue;
      expected.insert(name);
      text += fmt::format("{}--{}{}",
                          text.empty()        ? ""
                          : random() % 2 == 0 ? " "
                                              : "\t\n",
                          name, values[random() % values.size()]);
    }
    const bool is_empty = expected.empty();
    ::setenv("XLA_FLAGS", is_empty ? "" : text.c_str(), 1);
    EXPECT_EQ(given_flags(), expected) << text;
    put_flags(path, text);
    ::setenv("XLA_FLAGS", path.c_str(), 1);
    EXPECT_EQ(given_flags(), expected) << "in a file: " << text;
  }
  ::setenv("XLA_FLAGS", "/no/such", 1);
  EXPECT_TRUE(given_flags().empty()) << "require_known_flags reports the file";
  ::unsetenv("XLA_FLAGS");
  EXPECT_TRUE(given_flags().empty());
}

TEST_F(KnownXlaFlags, AreNotCheckedWithoutThePluginsNames) {
  EXPECT_EQ(outcome_of("--nonsense", "tpu"), "");
  ::setenv("XLA_FLAGS", "--nonsense", 1);
  EXPECT_EQ(require_known_flags("cuda", "libplugin.so"), "--nonsense") << "a library that the system finds";
}

}  // namespace
}  // namespace partita
