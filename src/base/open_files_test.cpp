#include "base/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

/// Sets the soft limit of open files while it lives.
class SoftLimit {
 public:
  explicit SoftLimit(int64_t soft) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{static_cast<rlim_t>(soft), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~SoftLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  SoftLimit& operator=(SoftLimit&&) = delete;
  int64_t hard() const { return static_cast<int64_t>(before_.rlim_max); }

 private:
  rlimit before_{};
};

int64_t open_now() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(files), end(files)) - 1;
}

std::vector<std::string> numbered_files(const TempDir& folder, int count) {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) {
    const Bytes bytes{static_cast<uint8_t>(i), static_cast<uint8_t>(i / 256)};
    paths.push_back(folder.write(fmt::format("{}", i), bytes).string());
  }
  return paths;
}

bool has_number(const OpenFiles::Opened& opened, int number) {
  uint8_t bytes[2] = {};
  return opened.file && ::pread(opened.file->fd(), bytes, 2, 0) == 2 && bytes[0] + 256 * bytes[1] == number;
}

TEST(OpenFiles, KeepsABoundedNumberOpen) {
  const TempDir folder;
  const std::vector<std::string> paths = numbered_files(folder, 600);
  const SoftLimit soft(128);
  const int64_t before = open_now();
  OpenFiles files(600);
  ASSERT_LT(files.max(), 600);
  std::mt19937 random(7);
  for (int draw = 0; draw < 4000; ++draw) {
    const int number = static_cast<int>(random() % 600);
    ASSERT_TRUE(has_number(files.get(paths[static_cast<size_t>(number)]), number));
    ASSERT_LE(files.size(), files.max());
  }
  EXPECT_EQ(open_now(), before + files.size());
  files.close();
  EXPECT_EQ(open_now(), before);
  EXPECT_TRUE(has_number(files.get(paths[1]), 1)) << "opens again";
}

TEST(OpenFiles, KeepsTheLastOnesThatWereAskedFor) {
  const TempDir folder;
  const SoftLimit soft(40);
  const std::vector<std::string> paths = numbered_files(folder, 12);
  OpenFiles files(10);
  ASSERT_EQ(files.max(), 10);
  const auto is_open = [&](int number) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      if (std::filesystem::read_symlink(entry.path(), failure) == paths[static_cast<size_t>(number)]) return true;
    }
    return false;
  };
  for (int number = 0; number < 10; ++number) files.get(paths[static_cast<size_t>(number)]);
  files.get(paths[0]);
  files.get(paths[10]);
  EXPECT_TRUE(is_open(0) && is_open(10));
  EXPECT_FALSE(is_open(1));
  const OpenFiles::Opened used = files.get(paths[2]);
  for (int number = 3; number < 12; ++number) files.get(paths[static_cast<size_t>(number)]);
  files.get(paths[0]);
  EXPECT_TRUE(has_number(used, 2)) << "as long as it is used";
}

/// Threads that draw files at random, and use each for a while.
struct Readers {
  unsigned threads = 1;
  int draws = 1;
  std::chrono::microseconds pause{0};
};

/// Returns how often a thread got another file than it asked for, or none.
int wrong_files(OpenFiles& files, const std::vector<std::string>& paths, const Readers& readers) {
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < readers.threads; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int draw = 0; draw < readers.draws; ++draw) {
        const size_t number = random() % paths.size();
        const OpenFiles::Opened used = files.get(paths[number]);
        std::this_thread::sleep_for(readers.pause);
        if (!has_number(used, static_cast<int>(number))) ++wrong;
      }
    });
  }
  threads.clear();
  return wrong;
}

TEST(OpenFiles, ThreadsShareThem) {
  const TempDir folder;
  const std::vector<std::string> paths = numbered_files(folder, 300);
  const SoftLimit soft(100);
  OpenFiles files(20);  // the limit is not raised
  ASSERT_EQ(files.max(), 25);
  EXPECT_EQ(wrong_files(files, paths, {.threads = 16, .draws = 2000}), 0);
  EXPECT_LE(files.size(), 25);
}

// Each thread uses one file at a time, and there are more threads than files that may be open.
TEST(OpenFiles, ThreadsTakeTurnsUnderASmallLimit) {
  const TempDir folder;
  const std::vector<std::string> paths = numbered_files(folder, 60);
  for (const int64_t room : {3, 8}) {
    OpenFiles files(1);
    const SoftLimit soft(open_now() + room);
    const Readers readers{.threads = 12, .draws = 60, .pause = std::chrono::microseconds(200)};
    EXPECT_EQ(wrong_files(files, paths, readers), 0) << room;
  }
}

TEST(OpenFiles, KeepsItsShareOfTheLimitThatOthersHaveNotRaised) {
  const TempDir folder;
  const std::vector<std::string> paths = numbered_files(folder, 90);
  const SoftLimit soft(96);
  if (soft.hard() < 1000) GTEST_SKIP() << "the limit cannot be raised";
  std::optional<RaisedOpenFileLimit> other(std::in_place);
  EXPECT_EQ(unraised_open_file_limit(), 96);
  OpenFiles few(24), many(25);
  EXPECT_EQ(few.max(), 24);
  EXPECT_GT(many.max(), 24);
  for (const std::string& path : paths) ASSERT_TRUE(few.get(path).file);
  other.reset();
  EXPECT_EQ(open_file_limit(), 96);
  EXPECT_LE(few.size(), 24);
  EXPECT_GE(::close(::open("/dev/null", O_RDONLY)), 0) << "descriptors are left";
  for (const std::string& path : paths) ASSERT_TRUE(many.get(path).file);
  EXPECT_EQ(open_file_limit(), soft.hard()) << "raised while many are open";
}

TEST(OpenFiles, GivesWayToOthers) {
  const TempDir folder;
  const std::vector<std::string> paths = numbered_files(folder, 40);
  const SoftLimit soft(64);
  OpenFiles files(16);
  for (int number = 0; number < 16; ++number) files.get(paths[static_cast<size_t>(number)]);
  std::vector<int> others;
  for (int file = ::open("/dev/null", O_RDONLY); file >= 0; file = ::open("/dev/null", O_RDONLY))
    others.push_back(file);
  EXPECT_TRUE(has_number(files.get(paths[30]), 30)) << "closes those that nobody uses";
  for (int file = ::open("/dev/null", O_RDONLY); file >= 0; file = ::open("/dev/null", O_RDONLY))
    others.push_back(file);
  files.close();
  for (int file = ::open("/dev/null", O_RDONLY); file >= 0; file = ::open("/dev/null", O_RDONLY))
    others.push_back(file);
  const OpenFiles::Opened none = files.get(paths[31]);
  EXPECT_EQ(none.file, nullptr);
  EXPECT_EQ(none.error, EMFILE);
  for (const int file : others) ::close(file);
  EXPECT_EQ(files.get("/nowhere/x").error, ENOENT);
}

TEST(OpenFiles, RaisesTheLimitWhileManyAreRead) {
  const TempDir folder;
  const std::vector<std::string> paths = numbered_files(folder, 100);
  const SoftLimit soft(96);
  if (soft.hard() < 1000) GTEST_SKIP() << "the limit cannot be raised";
  {
    OpenFiles few(24), many(100), more(100);
    few.get(paths[0]);
    EXPECT_EQ(open_file_limit(), 96);
    many.get(paths[0]);
    EXPECT_EQ(open_file_limit(), soft.hard());
    more.get(paths[0]);
    many.close();
    EXPECT_EQ(open_file_limit(), soft.hard()) << "the other one still reads";
    for (const std::string& path : paths) ASSERT_TRUE(more.get(path).file);
    EXPECT_EQ(more.size(), 100);
    more.close();
    EXPECT_EQ(open_file_limit(), 96);
    many.get(paths[1]);
  }
  EXPECT_EQ(open_file_limit(), 96);
}

TEST(OpenFiles, ProcessesThatAreStartedHaveTheLimitFromBefore) {
  const SoftLimit soft(96);
  if (soft.hard() < 1000) GTEST_SKIP() << "the limit cannot be raised";
  const RaisedOpenFileLimit raised;
  EXPECT_EQ(open_file_limit(), soft.hard());
  const pid_t child = ::fork();
  if (child == 0) {
    restore_open_file_limit();
    ::_exit(static_cast<int>(open_file_limit()));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 96);
  EXPECT_EQ(open_file_limit(), soft.hard());
}

}  // namespace
}  // namespace partita
