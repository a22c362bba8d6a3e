// Every golden text of this folder, and the harness that compares them.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <set>

#include "golden/golden_programs.h"
#include "golden/golden_text.h"
#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(kSourceDir) / "tests/golden";

struct GoldenFolder {
  const char* name;
  std::string (*run)(const std::string& input);
  size_t max_lines = kMaxGoldenLines;
  size_t min_files = 12;
};

constexpr GoldenFolder kFolders[] = {
    {"plan", plan_of_golden},
    {"reshard", reshard_of_golden},
    {"partition", partition_of_golden},
    {"schedule", schedule_of_golden},
    {"stablehlo", programs_of_golden, /*max_lines=*/400, /*min_files=*/9},
};

class GoldenTexts : public testing::TestWithParam<GoldenFolder> {};

TEST_P(GoldenTexts, AreWhatTheirInputsGive) {
  const auto& [name, run, max_lines, min_files] = GetParam();
  for (const std::string& message : check_golden_texts(kGolden / name, run, renews_golden_texts())) {
    ADD_FAILURE() << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenTexts, testing::ValuesIn(kFolders),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(GoldenFiles, AreShortAndSayWhatTheyShow) {
  size_t count = 0;
  std::set<std::string> titles;
  for (const GoldenFolder& folder : kFolders) {
    const auto files = files_of(kGolden / folder.name);
    EXPECT_GE(files.size(), folder.min_files) << folder.name;
    for (const fs::path& path : files) {
      const std::string text = read_text(path);
      EXPECT_EQ(fault_of_form(text, folder.max_lines), "") << path;
      EXPECT_TRUE(titles.insert(parse_golden(text).title).second) << path << " has the sentence of another file";
      ++count;
    }
  }
  EXPECT_GE(count, 60U);
}

TEST(GoldenFiles, NoneIsLeftUnread) {
  for (const auto& entry : fs::recursive_directory_iterator(kGolden)) {
    if (entry.is_directory()) continue;
    const fs::path path = entry.path(), folder = path.parent_path();
    if (folder == kGolden) {
      EXPECT_TRUE(path.extension() == ".cpp" || path.extension() == ".h") << path << " is read by no test";
      continue;
    }
    // pipeline_orders_test.cpp reads, and counts, those of pipeline.
    const bool is_read = folder == kGolden / "pipeline" ||
                         std::any_of(std::begin(kFolders), std::end(kFolders),
                                     [&](const GoldenFolder& one) { return folder == kGolden / one.name; });
    EXPECT_TRUE(is_read && path.extension() == ".txt") << path << " is read by no test";
  }
}

/// A folder with one golden text, whose run writes its input in capitals.
class GoldenHarness : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/partita-golden-XXXXXX";
    folder_ = mkdtemp(name);
    file_ = folder_ / "words.txt";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> check(const std::string& result, bool renew) const {
    write_text(file_, "# Words are written in capitals.\none\ntwo\nthree\n---\n" + result);
    return check_golden_texts(folder_, capitals, renew);
  }

  static std::string capitals(const std::string& input) {
    if (input.starts_with("!")) throw InvalidArgument("[words] no word, got '!'");
    std::string text = input;
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return text;
  }

  fs::path folder_, file_;
};

TEST_F(GoldenHarness, AWrongExpectationFailsWithItsLines) {
  EXPECT_TRUE(check("ONE\nTWO\nTHREE\n", false).empty());
  const auto messages = check("ONE\n2\nTHREE\nFOUR\n", false);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("words.txt shows: Words are written in capitals.\n"
                             "  ONE\n- 2\n+ TWO\n  THREE\n- FOUR\n"),
            std::string::npos)
      << messages[0];
  EXPECT_NE(messages[0].find("golden_tests --renew"), std::string::npos) << messages[0];
  EXPECT_EQ(check("ONE\nTWO\nTHREE", false).size(), 1U) << "the last line has no end";
}

TEST_F(GoldenHarness, AnErrorIsAResult) {
  write_text(file_, "# A line that is no word is refused.\n!\n---\nerror: [words] no word, got '!'\n");
  EXPECT_TRUE(check_golden_texts(folder_, capitals, false).empty());
}

TEST_F(GoldenHarness, RenewsOnlyResults) {
  EXPECT_TRUE(check("2\n", true).empty());
  EXPECT_EQ(read_text(file_), "# Words are written in capitals.\none\ntwo\nthree\n---\nONE\nTWO\nTHREE\n");
}

TEST_F(GoldenHarness, FaultsOfFormAreFound) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(fault_of_form(text).find(part), std::string::npos) << fault_of_form(text);
  };
  const std::string title = "# This file shows a fault.\n";
  EXPECT_EQ(fault_of_form(title + "a\n---\nb\n"), "");
  has("a\n---\nb\n", "no sentence");
  has("# fault of form\na\n---\nb\n", "the first line is no sentence");
  has(title + "a\nb\n", "no input");
  has(title + "---\nb\n", "no input");
  has(title + "a\n---\n", "the result has 0 lines");
  has(title + "a\n---\nb\n---\nc\n", "a second line '---'");
  std::string lines;
  for (size_t i = 0; i < kMaxGoldenLines; ++i) lines += "a\n";
  EXPECT_EQ(fault_of_form(title + lines + "---\n" + lines), "");
  has(title + lines + "a\n---\nb\n", "the input has 41 lines, expected 1 to 40");
  has(title + "a\n---\n" + lines + "b\n", "the result has 41 lines, expected 1 to 40");
  EXPECT_EQ(fault_of_form(title + "a\n---\n" + lines + "b\n", kMaxGoldenLines + 1), "");
}

TEST(GoldenRenewal, IsRefusedInCi) {
  EXPECT_EQ(refusal_of_renewal(nullptr, nullptr), "");
  EXPECT_EQ(refusal_of_renewal("", ""), "");
  EXPECT_NE(refusal_of_renewal("true", nullptr).find("got CI=true, expected it unset"), std::string::npos);
  EXPECT_NE(refusal_of_renewal(nullptr, "1").find("got PARTITA_CI=1, expected it unset"), std::string::npos);
  EXPECT_NE(read_text(fs::path(kSourceDir) / ".ci/run").find("export PARTITA_CI=1 "), std::string::npos);
}

/// Runs this program without tests.
Outcome run_golden_tests(const std::string& flag, const char* ci) {
  return run_command({fs::read_symlink("/proc/self/exe").string(), "--gtest_filter=-*", flag}, [&] {
    ::unsetenv("CI");
    ::unsetenv("PARTITA_CI");
    if (ci != nullptr) ::setenv("PARTITA_CI", ci, 1);
  });
}

TEST(GoldenRenewal, TheProgramEndsBeforeItWrites) {
  const Outcome refused = run_golden_tests("--renew", "1");
  EXPECT_EQ(refused.exit_code, static_cast<int>(ExitCode::usage));
  ASSERT_EQ(refused.lines.size(), 1U);
  EXPECT_EQ(refused.lines[0],
            "golden_tests: error: [--renew] CI compares golden texts and does not renew them, got PARTITA_CI=1, "
            "expected it unset");
  EXPECT_EQ(run_golden_tests("--renew", nullptr).exit_code, 0);
  const Outcome unknown = run_golden_tests("--update", nullptr);
  EXPECT_EQ(unknown.exit_code, static_cast<int>(ExitCode::usage));
  ASSERT_EQ(unknown.lines.size(), 1U);
  EXPECT_NE(unknown.lines[0].find("unknown argument, got --update"), std::string::npos) << unknown.lines[0];
}

}  // namespace
}  // namespace partita
