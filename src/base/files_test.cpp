#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

/// Holds all files that this process may have open under a small limit, but for `left`.
class FullProcess {
 public:
  explicit FullProcess(size_t left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{64, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (File file("/dev/null", O_RDONLY); file.is_open(); file = File("/dev/null", O_RDONLY)) {
      files_.push_back(std::move(file));
    }
    files_.resize(files_.size() - left);
  }
  ~FullProcess() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FullProcess& operator=(FullProcess&&) = delete;

 private:
  rlimit before_{};
  std::vector<File> files_;
};

TEST(FileInTurn, WaitsForOneSecondIfNobodyWrites) {
  const TempDir folder;
  const std::string path = (folder.path() / "a").string();
  const FullProcess full(0);
  const auto begin = Clock::now();
  errno = 0;
  FileInTurn file(path);
  const int error = errno;
  EXPECT_FALSE(file.is_open());
  EXPECT_EQ(error, EMFILE);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(file.close());
}

TEST(FileInTurn, WaitsForThoseThatWrite) {
  const TempDir folder;
  const FullProcess full(1);
  std::jthread other;
  {
    auto first = std::make_unique<FileInTurn>((folder.path() / "a").string());
    ASSERT_TRUE(first->is_open());
    other = std::jthread([first = std::move(first)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      EXPECT_TRUE(write_all(first->fd(), "abc", 3) && first->close());
    });
  }
  FileInTurn second((folder.path() / "b").string());
  EXPECT_TRUE(second.is_open());
  EXPECT_TRUE(write_all(second.fd(), "abc", 3) && second.close());
}

TEST(FileInTurn, DoesNotWaitForOtherErrors) {
  const TempDir folder;
  const std::string path = folder.write("there", Bytes{1}).string();
  const auto begin = Clock::now();
  EXPECT_FALSE(FileInTurn(path).is_open());
  EXPECT_FALSE(FileInTurn("/nowhere/x").is_open());
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(900));
}

}  // namespace
}  // namespace partita
