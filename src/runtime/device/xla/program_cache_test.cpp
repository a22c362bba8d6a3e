// Programs that are kept on the disk, with a plugin that computes nothing.

#include "runtime/device/xla/program_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/pjrt/test_fake_plugin.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using pjrt::ErrorCode;
using pjrt::FakePlugin;
using pjrt::Function;
using namespace std::chrono_literals;

constexpr uid_t kNobody = 65534;

/// A fake plugin and a folder, which each `run` uses as a process of its own would.
class ProgramCaches : public testing::Test {
 protected:
  ~ProgramCaches() override { EXPECT_TRUE(fake_.alive.empty()) << *fake_.alive.begin(); }

  std::string folder() const { return (top_.path() / "programs").string(); }
  ProgramCache::Options options() const { return {.folder = folder(), .compiler = "fake\n"}; }

  /// Asks a new client and a new cache for a program. Returns it as its plugin serialises it.
  std::string run(const std::string& text, const ProgramCache::Options& options,
                  const pjrt::CompileOptions& how = {.portable = true}) {
    const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
    ProgramCache cache(options);
    return run(cache, client, text, how);
  }
  std::string run(const std::string& text) { return run(text, options()); }
  std::string run(ProgramCache& cache, const pjrt::Client& client, const std::string& text,
                  const pjrt::CompileOptions& how = {.portable = true}) {
    const auto warn = [this](std::string_view message) { warnings_.emplace_back(message); };
    const pjrt::Executable program = cache.program_of(client, text, how, warn);
    return fake_.failing.contains(Function::executable_serialize) ? "" : program.serialized();
  }

  int compilations() { return fake_.calls[Function::client_compile]; }
  /// Returns the warnings since the last call, and forgets them.
  std::vector<std::string> warnings() { return std::exchange(warnings_, {}); }

  /// Returns the files of the folder that end so, by their names.
  std::vector<fs::path> files(const std::string& ending = "") const {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder(), none)) {
      if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }

  FakePlugin fake_;
  const TempDir top_;

 private:
  std::vector<std::string> warnings_;
};

std::string bytes_in(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void put_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Runs a body in a new process. Returns its process id; the exit code is what the body returns.
template <class Body>
pid_t start_process(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  return child;
}

/// Returns the exit code of a process, or -1 if a signal ended it.
int end_of(pid_t process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ProgramCaches, ASecondRunCompilesNothing) {
  const std::string first = run("module {a}");
  EXPECT_EQ(run("module {a}"), first);
  EXPECT_EQ(compilations(), 1);
  EXPECT_TRUE(warnings().empty());
  ASSERT_EQ(files().size(), 1u) << "no lock and no temporary file stays";
  struct stat status {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
  ASSERT_EQ(::stat(files()[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
}

TEST_F(ProgramCaches, WhateverChangesAProgramIsInItsKey) {
  run("module {a}");
  run("module {b}");
  run("module {a}", options(), {.portable = false});
  run("module {a}", options(), {.portable = true, .flags = {{"level", int64_t{0}}}});
  run("module {a}", {.folder = folder(), .compiler = "another\n"});
  EXPECT_EQ(compilations(), 5);
  EXPECT_EQ(files(".program").size(), 5u);
  run("module {b}");
  EXPECT_EQ(compilations(), 5);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(ProgramCaches, AcceleratorsTakeKeptPrograms) {
  const auto accelerator = [&] {
    return Accelerator::of(pjrt::Plugin(fake_.table(), "fake.so").make_client(), 0,
                           std::make_shared<ProgramCache>(options()));
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(accelerator().compile("module {a}")->outputs(), 1u);
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(fake_.calls[Function::executable_deserialize_and_load], 1);
}

TEST_F(ProgramCaches, DamageIsSaidAndCompiledAnew) {
  run("module {a}");
  const fs::path path = files()[0];
  const std::string good = bytes_in(path);
  const auto expect_damage = [&](const std::string& bytes, const std::string& said) {
    put_bytes(path, bytes);
    const int before = compilations();
    EXPECT_EQ(run("module {a}"), "serialized module {a}");
    EXPECT_EQ(compilations(), before + 1) << said;
    EXPECT_EQ(warnings(), std::vector<std::string>{fmt::format("[cache] a kept program is compiled anew, got {} in {}",
                                                               said, path.string())});
    EXPECT_EQ(bytes_in(path), good) << "the file is written anew";
  };
  expect_damage("", "0 bytes");
  expect_damage(good.substr(0, 60), "60 bytes");
  expect_damage(good.substr(0, good.size() - 1), fmt::format("{} bytes, expected {}", good.size() - 1, good.size()));
  expect_damage(good + "x", fmt::format("{} bytes, expected {}", good.size() + 1, good.size()));
  expect_damage(std::string(good.size(), '\0'), "no program of Partita");
  std::string changed = good;
  changed.back() ^= 1;
  expect_damage(changed, "a wrong checksum");
  changed = good;
  changed[20] = changed[20] == '0' ? '1' : '0';
  expect_damage(changed, "a header with a wrong checksum");
}

TEST_F(ProgramCaches, AProgramOfAnotherKeyIsNotTaken) {
  run("module {a}");
  const fs::path path = files()[0];
  for (const std::string other : {"module {b}", "module {longer}"}) {
    run(other);
    const std::vector<fs::path> all = files();
    ASSERT_EQ(all.size(), 2u);
    fs::rename(all[0] == path ? all[1] : all[0], path);
    EXPECT_TRUE(warnings().empty());
    EXPECT_EQ(run("module {a}"), "serialized module {a}");
    EXPECT_EQ(warnings(),
              std::vector<std::string>{fmt::format(
                  "[cache] a kept program is compiled anew, got a program of another key in {}", path.string())});
  }
}

TEST_F(ProgramCaches, RandomDamageIsNeverLoaded) {
  const std::string expected = run("module {a}");
  const fs::path path = files()[0];
  const std::string good = bytes_in(path);
  std::mt19937 random(7);
  const auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  int damaged = 0;
  for (int i = 0; i < 500; ++i) {
    std::string bytes = good;
    switch (below(5)) {
      case 0: bytes[below(bytes.size())] ^= static_cast<char>(1u << below(8)); break;
      case 1: bytes.resize(below(bytes.size())); break;
      case 2: bytes.append(1 + below(100), static_cast<char>(below(256))); break;
      case 3: bytes.replace(below(bytes.size()), 1 + below(40), std::string(below(40), 'f')); break;
      default:
        for (size_t k = below(30) + 1; k-- > 0;) bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    put_bytes(path, bytes);
    damaged += bytes != good;
    ASSERT_EQ(run("module {a}"), expected);
    ASSERT_EQ(bytes_in(path), good);
  }
  EXPECT_EQ(compilations(), 1 + damaged);
  EXPECT_EQ(fake_.calls[Function::executable_deserialize_and_load], 500 - damaged);
}

TEST_F(ProgramCaches, OnlyTheUsersOwnFilesAreTaken) {
  run("module {a}");
  const fs::path path = files()[0];
  ASSERT_EQ(::chmod(path.c_str(), 0620), 0);
  run("module {a}");
  EXPECT_EQ(compilations(), 2);
  EXPECT_EQ(warnings(),
            std::vector<std::string>{fmt::format("[cache] a kept program is compiled anew, got mode 0620 of user {0}, "
                                                 "expected one that only user {0} may write in {1}",
                                                 ::geteuid(), path.string())});
  const fs::path elsewhere = top_.path() / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  run("module {a}");
  EXPECT_EQ(compilations(), 3);
  EXPECT_EQ(warnings(), std::vector<std::string>{fmt::format("[cache] a kept program is compiled anew, got Too many "
                                                             "levels of symbolic links in {}",
                                                             path.string())});
  fs::remove(path);
  fs::create_directory(path);
  put_bytes(path / "of_others", "");
  const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
  ProgramCache cache(options());
  for (const char* const text : {"module {a}", "module {a}", "module {b}"}) run(cache, client, text);
  EXPECT_EQ(compilations(), 6);
  EXPECT_EQ(warnings(), std::vector<std::string>{fmt::format("[cache] a program is not kept, got a folder in place of "
                                                             "its file, expected none: rm -r {}",
                                                             path.string())});
  EXPECT_EQ(files(".program").size(), 2u) << "another program is kept";
  fs::remove(path / "of_others");
  for (int i = 0; i < 2; ++i) run("module {a}");
  EXPECT_EQ(compilations(), 7) << "an empty folder makes room";
  EXPECT_EQ(warnings(), std::vector<std::string>());
}

TEST_F(ProgramCaches, AFolderThatOthersMayWriteIsNotUsed) {
  fs::create_directory(folder());
  const auto expect_unsafe = [&](const std::string& path, const std::string& got) {
    const int before = compilations();
    for (int i = 0; i < 2; ++i) run("module {a}", {.folder = path, .compiler = "fake\n"});
    EXPECT_EQ(compilations(), before + 2);
    const std::string expected = fmt::format(
        "[cache] {}: a folder for compiled programs that is not safe, got {}, expected one that only user {} may "
        "write; compiled programs are not kept",
        path, got, ::geteuid());
    EXPECT_EQ(warnings(), (std::vector<std::string>{expected, expected}));
  };
  for (const mode_t mode : {0770u, 0702u, 01777u}) {
    ASSERT_EQ(::chmod(folder().c_str(), mode), 0);
    expect_unsafe(folder(), fmt::format("mode {:04o} of user {}", mode, ::geteuid()));
  }
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  if (::geteuid() != 0) {
    struct stat status {};
    ASSERT_EQ(::stat("/usr", &status), 0);
    expect_unsafe("/usr", fmt::format("mode {:04o} of user {}", status.st_mode & 07777u, status.st_uid));
  } else {
    ASSERT_EQ(::chown(folder().c_str(), kNobody, kNobody), 0);
    expect_unsafe(folder(), fmt::format("mode 0700 of user {}", kNobody));
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(ProgramCaches, AFolderThatCannotBeMadeCostsOneWarning) {
  put_bytes(top_.path() / "file", "");
  const std::string path = top_.path() / "file" / "programs";
  const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
  ProgramCache cache({.folder = path, .compiler = "fake\n"});
  for (const std::string text : {"module {a}", "module {b}"}) EXPECT_EQ(run(cache, client, text), "serialized " + text);
  EXPECT_EQ(warnings(), std::vector<std::string>{fmt::format(
                            "[cache] {}: cannot make or open the folder of compiled programs: Not a directory; "
                            "compiled programs are not kept",
                            path)});
}

TEST_F(ProgramCaches, AFolderThatCannotBeWrittenIsRead) {
  run("module {a}");
  ASSERT_EQ(::chmod(folder().c_str(), 0500), 0);
  if (::geteuid() == 0) {  // nothing is closed to root
    for (const fs::path& path : {top_.path(), fs::path(folder()), files()[0]}) {
      ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    }
  }
  const pid_t child = start_process([&] {
    if (::geteuid() == 0 && ::seteuid(kNobody) != 0) return 1;
    const int before = compilations();
    run("module {a}");
    if (compilations() != before || !warnings().empty()) return 2;
    const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
    ProgramCache cache(options());
    for (const std::string text : {"module {b}", "module {c}"}) {
      if (run(cache, client, text) != "serialized " + text) return 3;
    }
    const std::string expected =
        fmt::format("[cache] cannot write {}: Permission denied; compiled programs are not kept", folder());
    return warnings() == std::vector<std::string>{expected} ? 0 : 4;
  });
  EXPECT_EQ(end_of(child), 0);
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ProgramCaches, AFullDiskCostsOneWarningAndLeavesNothing) {
  const pid_t child = start_process([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
    ProgramCache cache(options());
    for (const std::string text : {"module {a}", "module {b}"}) {
      if (run(cache, client, text) != "serialized " + text) return 2;
    }
    const std::string expected =
        fmt::format("[cache] cannot write {}: File too large; compiled programs are not kept", folder());
    return warnings() == std::vector<std::string>{expected} ? 0 : 3;
  });
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(ProgramCaches, APluginThatDoesNotGiveItsProgramsIsAskedOnce) {
  fake_.failing[Function::executable_serialize] = ErrorCode::unimplemented;
  const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
  ProgramCache cache(options());
  for (const std::string text : {"module {a}", "module {b}"}) run(cache, client, text);
  EXPECT_EQ(compilations(), 2);
  EXPECT_EQ(fake_.calls[Function::executable_serialize], 1);
  EXPECT_EQ(warnings(), std::vector<std::string>{
                            "[cache] the plugin does not give its programs, so none is kept: [device] fake.so: "
                            "PJRT_Executable_Serialize failed with code 12: as the test wants"});
  EXPECT_TRUE(files().empty());
}

TEST_F(ProgramCaches, APluginThatDoesNotLoadIsAskedOnce) {
  run("module {a}");
  run("module {b}");
  fake_.failing[Function::executable_deserialize_and_load] = ErrorCode::internal;
  {
    const pjrt::Client client = pjrt::Plugin(fake_.table(), "fake.so").make_client();
    ProgramCache cache(options());
    for (const std::string text : {"module {a}", "module {b}"})
      EXPECT_EQ(run(cache, client, text), "serialized " + text);
  }
  EXPECT_EQ(compilations(), 4);
  EXPECT_EQ(fake_.calls[Function::executable_deserialize_and_load], 1);
  EXPECT_EQ(warnings(), std::vector<std::string>{
                            "[cache] the plugin does not load what it compiled, so programs are compiled anew: "
                            "[device] fake.so: PJRT_Executable_DeserializeAndLoad failed with code 13: as the test "
                            "wants"});
  EXPECT_EQ(files().size(), 1u) << "what was refused is removed";
}

TEST_F(ProgramCaches, OtherErrorsAreThoseOfCompilations) {
  const auto code_of = [&] {
    try {
      run("module {a}");
    } catch (const Error& error) {
      return error.code();
    }
    return ExitCode::ok;
  };
  fake_.failing[Function::client_compile] = ErrorCode::invalid_argument;
  EXPECT_EQ(code_of(), ExitCode::internal);
  EXPECT_TRUE(files().empty());
  fake_.failing.clear();
  EXPECT_EQ(code_of(), ExitCode::ok);
  fake_.failing[Function::executable_deserialize_and_load] = ErrorCode::resource_exhausted;
  EXPECT_EQ(code_of(), ExitCode::out_of_memory);
  EXPECT_EQ(files().size(), 1u) << "a lack of memory says nothing about the file";
  EXPECT_TRUE(warnings().empty());
}

TEST_F(ProgramCaches, WhatWasNotUsedForLongestIsRemoved) {
  run("module {0}");
  const auto bytes = static_cast<int64_t>(fs::file_size(files()[0]));
  ProgramCache::Options small = options();
  small.max_bytes = 3 * bytes;
  const auto age = [](const fs::path& path, fs::file_time_type::duration by) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - by);
  };
  const fs::path first = files()[0];
  age(first, 30h);
  const auto before = files();
  run("module {1}", small);
  fs::path second = files()[0] == first ? files()[1] : files()[0];
  age(second, 20h);
  run("module {2}", small);
  EXPECT_EQ(files().size(), 3u) << "they fit";
  run("module {0}", small);  // used again
  put_bytes(folder() + "/notes.txt", std::string(1000, 'x'));
  run("module {3}", small);
  EXPECT_EQ(files(".program").size(), 3u);
  EXPECT_TRUE(fs::exists(first));
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(folder() + "/notes.txt")) << "files of others stay";
  const int count = compilations();
  small.max_bytes = bytes - 1;
  for (int i = 0; i < 2; ++i) run("module {4}", small);
  EXPECT_EQ(compilations(), count + 2) << "what is larger than the folder is not kept";
  EXPECT_EQ(files(".program").size(), 3u);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(ProgramCaches, FilesOfKilledProcessesAreRemovedAfterADay) {
  fs::create_directories(folder());
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  const std::string digits(32, 'a');
  for (const std::string ending : {".tmp-1", ".lock"}) {
    for (const auto& [name, hours] : {std::pair(digits, 25h), {std::string(32, 'b'), 1h}}) {
      const fs::path path = fs::path(folder()) / (name + ending);
      put_bytes(path, "x");
      fs::last_write_time(path, fs::file_time_type::clock::now() - hours);
    }
  }
  put_bytes(fs::path(folder()) / "mine.lock", "");
  fs::last_write_time(fs::path(folder()) / "mine.lock", fs::file_time_type::clock::now() - 100h);
  run("module {a}");
  EXPECT_EQ(files(".tmp-1").size(), 1u);
  EXPECT_EQ(files(".lock").size(), 2u);
  EXPECT_FALSE(fs::exists(fs::path(folder()) / (digits + ".lock")));
}

TEST_F(ProgramCaches, EightProcessesCompileOnce) {
  fake_.compilation = 300ms;
  std::vector<pid_t> processes;
  for (int i = 0; i < 8; ++i) {
    processes.push_back(start_process([&] {
      if (run("module {a}") != "serialized module {a}" || !warnings().empty()) return 50;
      return compilations();
    }));
  }
  int compiled = 0;
  for (const pid_t process : processes) compiled += end_of(process);
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ProgramCaches, ProcessesDoNotWaitForOneThatIsKilled) {
  fake_.compilation = 10min;
  const pid_t first = start_process([&] { return run("module {a}").empty() ? 1 : 0; });
  while (files(".lock").empty()) ::usleep(1000);
  fake_.compilation = 0ms;
  std::vector<pid_t> others;
  for (int i = 0; i < 3; ++i) others.push_back(start_process([&] { return run("module {a}").empty() ? 1 : 0; }));
  ::usleep(50'000);
  ::kill(first, SIGKILL);
  EXPECT_EQ(end_of(first), -1);
  for (const pid_t other : others) EXPECT_EQ(end_of(other), 0);
  EXPECT_EQ(files().size(), 1u);
}

// The first keeps nothing, since its plugin gives no programs. The second has waited for it, and compiles.
TEST_F(ProgramCaches, WhoeverWaitedInVainCompiles) {
  fake_.compilation = 200ms;
  fake_.failing[Function::executable_serialize] = ErrorCode::unimplemented;
  const auto compile = [&](int& compiled) {
    compiled = end_of(start_process([&] { return run("module {a}").empty() ? compilations() : 50; }));
  };
  int first = 0, second = 0;
  std::thread other([&] { compile(first); });
  while (files(".lock").empty()) ::usleep(1000);
  compile(second);
  other.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  EXPECT_TRUE(files().empty());
}

TEST_F(ProgramCaches, FoldersAboveAreMade) {
  ProgramCache::Options options = this->options();
  options.folder += "/of/a/user";
  run("module {a}", options);
  EXPECT_EQ(compilations(), 1);
  run("module {a}", options);
  EXPECT_EQ(compilations(), 1) << "kept in the folder";
  EXPECT_EQ(fs::status(options.folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(warnings().empty());
}

// A lock that is never released, as of a process that was stopped.
TEST_F(ProgramCaches, PatienceEnds) {
  ProgramFiles files(folder(), 1000);
  const ProgramFiles::Lock held = files.lock("key", 1s);
  EXPECT_FALSE(held.has_waited());
  const ProgramFiles::Lock other = files.lock("key", 50ms);
  EXPECT_TRUE(other.has_waited());
}

}  // namespace
}  // namespace partita
