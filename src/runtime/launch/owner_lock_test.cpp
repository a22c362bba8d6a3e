#include "runtime/launch/owner_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/comm/processes/host.h"
#include "runtime/launch/signals.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// A variable of the environment while the object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable& operator=(Variable&&) = delete;

 private:
  const char* name_;
};

/// A lock whose warnings are kept.
struct Taken {
  explicit Taken(const OwnedPath& owned, bool waits = false)
      : lock(owned, waits, [this](const std::string& text) { warnings.push_back(text); }) {}
  std::vector<std::string> warnings;
  OwnerLock lock;
};

OwnedPath checkpoints(const fs::path& folder) { return owned_checkpoints(folder.string()); }

/// The text of a refusal; "" where the lock was to be had.
std::string refusal(const OwnedPath& owned, bool waits = false) {
  try {
    const Taken taken(owned, waits);
    return "";
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_write);
    return error.what();
  }
}

TEST(OwnerLock, TheSecondIsToldWhoHoldsIt) {
  const TempDir dir;
  const fs::path run = dir.path() / "run";
  {
    const Taken first(checkpoints(run));
    EXPECT_TRUE(first.lock.is_held());
    EXPECT_EQ(refusal(checkpoints(run)),
              fmt::format("[checkpoint] another job writes to it, got {} held by process {} on {}, expected another "
                          "path, or that job to have ended",
                          run.string(), ::getpid(), host_name()));
    EXPECT_EQ(refusal(owned_folder("--log-dir", run.string(), "launch")), "") << "another use of the folder";
    EXPECT_TRUE(first.warnings.empty());
  }
  EXPECT_FALSE(fs::exists(run)) << "it was made for the lock, and nothing was written";
  EXPECT_EQ(refusal(checkpoints(run)), "");
  fs::create_directory(run);
  { const Taken again(checkpoints(run)); }
  EXPECT_TRUE(fs::is_empty(run)) << "a folder that was there stays, without the file of the lock";
}

TEST(OwnerLock, FilesAreLockedByWhatTheyAre) {
  const TempDir dir;
  const fs::path log = dir.path() / "log", other = dir.path() / "sub" / "link";
  fs::create_directory(other.parent_path());
  fs::create_symlink(log, other);
  const Taken first(owned_file("log", log.string()));
  EXPECT_NE(refusal(owned_file("log", other.string())), "") << "a link to it";
  EXPECT_NE(refusal(owned_file("log", (dir.path() / "sub" / ".." / "log").string())), "");
  EXPECT_EQ(refusal(owned_file("log", (dir.path() / "log2").string())), "");
  EXPECT_FALSE(fs::exists(log)) << "a lock makes no file";
  const fs::path pipe = dir.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/null"), pipe.string()}) {
    const Taken one(owned_file("log", path));
    EXPECT_FALSE(one.lock.is_held()) << path;
    EXPECT_TRUE(one.warnings.empty()) << path;
  }
}

TEST(OwnerLock, WithoutLocksThereIsAWarning) {
  const TempDir dir;
  const OwnedPath owned = owned_file("log", (dir.path() / "log").string());
  fs::create_directory(owned.lock);  // no file can be made there
  const Taken taken(owned);
  EXPECT_FALSE(taken.lock.is_held());
  ASSERT_EQ(taken.warnings.size(), 1u);
  EXPECT_EQ(taken.warnings[0],
            fmt::format("[log] cannot lock {}: Is a directory; another job that writes there would go unnoticed",
                        owned.path));
  EXPECT_TRUE(fs::exists(owned.lock));
  // A folder that cannot be made is told by whoever writes there.
  for (const OwnedPath& nowhere :
       {checkpoints(dir.path() / "no" / "run"), owned_file("log", dir.path() / "no" / "x")}) {
    const Taken none(nowhere);
    EXPECT_FALSE(none.lock.is_held());
    EXPECT_TRUE(none.warnings.empty());
  }
}

TEST(OwnerLock, ASignalEndsTheWait) {
  const TempDir dir;
  const OwnedPath owned = checkpoints(dir.path() / "run");
  const Taken first(owned);
  {
    const SignalGuard guard;
    ASSERT_EQ(std::raise(SIGTERM), 0);
    try {
      const Taken second(owned, /*waits=*/true);
      FAIL() << "two hold it";
    } catch (const RuntimeFailure& error) {
      EXPECT_EQ(static_cast<int>(error.code()), kSignalExit + SIGTERM);
      EXPECT_EQ(std::string(error.what()),
                fmt::format("[checkpoint] interrupted, got signal 15 (Terminated), expected process {} on {} to end, "
                            "which holds {}",
                            ::getpid(), host_name(), owned.path));
    }
  }
  const SignalGuard next;  // forgets the signal
}

TEST(OwnerLock, AJobThatIsStartedAgainWaits) {
  const TempDir dir;
  const OwnedPath owned = checkpoints(dir.path() / "run");
  const auto seconds_of_refusal = [&](bool waits) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(refusal(owned, waits), "");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto first = std::make_unique<Taken>(owned);
  {
    const Variable timeout("PARTITA_STALL_TIMEOUT", "60");
    EXPECT_LT(seconds_of_refusal(false), 30);
  }
  const Variable timeout("PARTITA_STALL_TIMEOUT", "0.5");
  EXPECT_GE(seconds_of_refusal(true), 0.5);
  for (const char* counter : {"PARTITA_RUN", "SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"}) {
    for (const char* none : {"0", "", "-1", "first", "1x"}) {
      const Variable variable(counter, none);
      EXPECT_FALSE(is_restarted()) << counter << "=" << none;
    }
    const Variable variable(counter, "1");
    EXPECT_TRUE(is_restarted()) << counter;
  }
  {
    const Variable attempt("PARTITA_RUN", "2");
    EXPECT_GE(seconds_of_refusal(false), 0.5);
  }
  const Variable patience("PARTITA_STALL_TIMEOUT", "20");
  std::jthread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    first.reset();
  });
  const Taken second(owned, /*waits=*/true);
  EXPECT_TRUE(second.lock.is_held());
  ASSERT_EQ(second.warnings.size(), 1u);
  EXPECT_NE(
      second.warnings[0].find(fmt::format("[checkpoint] waits for {} until process {} on ", owned.path, ::getpid())),
      std::string::npos)
      << second.warnings[0];
}

/// The process of a child that does this and then waits to be killed; it writes a byte to the pipe before.
pid_t child_that(const std::function<void()>& act, int ready) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  act();
  [[maybe_unused]] const ssize_t told = ::write(ready, "x", 1);
  ::pause();
  ::_exit(0);
}

TEST(OwnerLock, EndsWithItsProcessAndNotWithThoseThatItStarts) {
  const TempDir dir;
  const OwnedPath owned = checkpoints(dir.path() / "run");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  char byte = 0;
  const pid_t holder = child_that([&] { new Taken(owned); }, ends[1]);
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_NE(refusal(owned).find(fmt::format("held by process {} on ", holder)), std::string::npos);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_TRUE(fs::exists(owned.lock)) << "nobody could remove it";
  auto own = std::make_unique<Taken>(owned);
  EXPECT_TRUE(own->lock.is_held());
  // A program that is started meanwhile, and is there for longer.
  const pid_t program = ::fork();
  if (program == 0) {
    ::execlp("sleep", "sleep", "60", nullptr);
    ::_exit(127);
  }
  // It has begun when its command line is another.
  const std::string comm = fmt::format("/proc/{}/comm", program);
  for (int i = 0; i < 500; ++i) {
    std::ifstream file(comm);
    std::string name;
    if (std::getline(file, name) && name == "sleep") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // A fork that ends gives nothing back that is its parent's.
  const pid_t fork = ::fork();
  if (fork == 0) {
    own.reset();
    ::_exit(0);
  }
  ::waitpid(fork, nullptr, 0);
  EXPECT_NE(refusal(owned), "");
  own.reset();
  EXPECT_EQ(refusal(owned), "") << "the program that was started does not hold it";
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(OwnerLock, IsTakenAgainWhereItsFolderWasRemoved) {
  const TempDir dir;
  const fs::path run = dir.path() / "run";
  Taken first(checkpoints(run));
  first.lock.renew();
  fs::remove_all(run);
  first.lock.renew();
  EXPECT_NE(refusal(checkpoints(run)), "");
  fs::remove_all(run);
  {
    const Taken second(checkpoints(run));
    for (int i = 0; i < 2; ++i) {
      try {
        first.lock.renew();
        ADD_FAILURE() << "it is the other job's";
      } catch (const RuntimeFailure& error) {
        EXPECT_EQ(error.code(), ExitCode::cannot_write);
      }
      EXPECT_FALSE(first.lock.is_held());
    }
  }
  first.lock.renew();
  EXPECT_TRUE(first.lock.is_held());
}

// Processes that take and give back one lock in random order: at no time two have it, and each gets its turns.
TEST(OwnerLock, OneOfManyHoldsIt) {
  constexpr int kProcesses = 4, kTurns = 40;
  const TempDir dir;
  const fs::path run = dir.path() / "run", mark = dir.path() / "held";
  std::vector<pid_t> children;
  for (int child = 0; child < kProcesses; ++child) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    std::mt19937 random(static_cast<unsigned>(child));
    for (int turn = 0; turn < kTurns;) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
      try {
        const Taken taken(checkpoints(run));
        if (!taken.lock.is_held()) ::_exit(2);
        const int file = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (file < 0) ::_exit(1);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        ::close(file);
        ::unlink(mark.c_str());
        ++turn;
      } catch (const RuntimeFailure&) {
      }
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "1: two held it; 2: none could be taken";
  }
  // The one that made the folder may have left it to another one.
  EXPECT_TRUE(!fs::exists(run) || fs::is_empty(run));
}

}  // namespace
}  // namespace partita
