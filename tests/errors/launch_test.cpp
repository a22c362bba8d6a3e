// What a launch refuses, and how jobs say which rank failed.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <tuple>

#include "runtime/launch/launcher/orders.h"
#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

/// Expects a rank of mpirun to refuse `library` in place of MPI's, with one line that contains `part`.
void expect_no_mpi(const std::string& library, const std::string& part) {
  const Outcome outcome = run_program({"train", "mlp:hidden=4", "--steps", "1", "--no-eval"}, [&] {
    ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
    ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    ::setenv("PARTITA_MPI_LIBRARY", library.c_str(), 1);
  });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::usage));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.lines[0].find(part), std::string::npos) << outcome.lines[0];
}

TEST(LaunchErrors, NoLibraryOfMpi) {
  expect_no_mpi("libnone.so.1", "[mpi] cannot load the MPI library, got 'libnone.so.1: cannot open shared object");
  expect_no_mpi("libz.so.1", "[mpi] the MPI library is not supported, got no MPI_Abort in libz.so.1, expected libmpi");
}

TEST(LaunchErrors, FlagsThatMakeNoSense) {
  expect_refusal({"launch", "--", "train", "mlp"}, ExitCode::usage, {"[launch] no number of ranks, got no -n"});
  expect_refusal({"launch", "-n", "2"}, ExitCode::usage, {"[launch] COMMAND is required"});
  for (const char* number : {"0", "-3"}) {
    expect_refusal({"launch", "-n", number, "--", "train", "mlp"}, ExitCode::usage,
                   {fmt::format("[-n] out of range, got {}, expected 1 to 65536", number)});
  }
  for (const char* flag : {"-n", "--ranks"}) {
    expect_refusal({"launch", flag, "two", "--", "train", "mlp"}, ExitCode::usage,
                   {"[-n] not a number, got 'two', expected a whole number"});
  }
  expect_refusal({"launch", "-n", "2", "--hosts", "a:2", "--hostfile", "h", "--", "train"}, ExitCode::usage,
                 {"[launch] hosts are given more than once"});
  expect_refusal({"launch", "--hosts", "a:0", "--", "train"}, ExitCode::usage, {"[--hosts] not a host, got 'a:0'"});
  expect_refusal({"launch", "-n", "3", "--hosts", "a:2", "--", "train"}, ExitCode::usage,
                 {"[-n] more ranks than slots, got 3, expected at most 2"});
  expect_refusal({"launch", "-n", "2", "--stall-timeout", "0", "--", "train"}, ExitCode::usage,
                 {"[--stall-timeout] out of range, got 0"});
  for (const char* name : {"A=b", "A,B", ""}) {
    expect_refusal({"launch", "-n", "2", "-x", name, "--", "train"}, ExitCode::usage,
                   {fmt::format("[-x] not the name of a variable, got '{}', expected one name", name)});
  }
  expect_refusal({"launch", "-n", "2", "--min-ranks", "3", "--", "train"}, ExitCode::usage,
                 {"[--min-ranks] out of range, got 3, expected 0 to 2"});
  expect_refusal({"launch", "--hostfile", "/no/such", "--", "train"}, ExitCode::missing_file,
                 {"[hostfile] cannot read /no/such"});
  expect_refusal({"launch", "--rank-table", "/no/such", "--", "train"}, ExitCode::missing_file,
                 {"[rank table] cannot read /no/such"});
  expect_refusal({"diagnose", "/no/such"}, ExitCode::missing_file, {"[diagnose] no flight records in /no/such"});
}

// The logs of a job that runs are not those of another one.
TEST(LaunchErrors, ASecondJobWithTheFolderOfTheLogs) {
  const TempDir folder;
  const std::string logs = (folder.path() / "logs").string();
  const std::vector<std::string> job{"launch", "-n", "1", "--log-dir", logs, "--", "true"};
  EXPECT_EQ(run_program(job).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(logs + "/.launch.owner"));
  const int file = ::open((logs + "/.launch.owner").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  ASSERT_EQ(::write(file, "12 on b\n", 8), 8);
  expect_refusal(
      job, ExitCode::cannot_write,
      {"[--log-dir] another job writes to it, got " + logs + " held by process 12 on b, expected another path"});
  ::close(file);
  EXPECT_EQ(run_program(job).exit_code, 0);
}

TEST(LaunchErrors, DamagedFiles) {
  const TempDir folder;
  const std::string path = (folder.path() / "file").string();
  write_text(path, "node slots=many\n");
  expect_refusal({"launch", "--hostfile", path, "--", "train"}, ExitCode::bad_input,
                 {"file:1: not a host, got 'slots=many'"});
  write_text(path, R"({"server_list": [{"server_id": "a", "deivce": []}]})");
  expect_refusal({"launch", "--rank-table", path, "--", "train"}, ExitCode::bad_input,
                 {"no device of server 0", "did you mean 'deivce'?"});
  std::filesystem::create_directories(folder.path() / "rank_0");
  write_text(folder.path() / "rank_0" / "flight_record", "nonsense");
  expect_refusal({"diagnose", folder.path().string()}, ExitCode::bad_input, {"not a flight record, got 8 bytes"});
}

TEST(LaunchErrors, RanksAsThreadsKeepRecords) {
  const TempDir folder;
  const std::string logs = (folder.path() / "logs").string();
  expect_refusal(
      {"train", "mlp", "--ranks", "3", "--batch", "48", "--lr", "1e30", "--steps", "5", "--flight-record", logs},
      ExitCode::non_finite, {"not finite"});
  const Outcome outcome = run_program({"diagnose", logs});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.output.starts_with("3 of 3 ranks have a record\nrank 0 on ")) << outcome.output;
  EXPECT_NE(outcome.output.find("it ended with 79: rank 2: [train] the loss is not finite"), std::string::npos);
}

/// One of two ranks, which a script would have started.
void expect_refusal_of_rank(const std::vector<std::pair<const char*, std::string>>& variables, ExitCode code,
                            const std::string& text) {
  const Outcome outcome = run_program({"train", "mlp", "--steps", "1"}, [&] {
    for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
  });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(code));
  ASSERT_FALSE(outcome.lines.empty());
  EXPECT_NE(outcome.lines[0].find(text), std::string::npos) << outcome.lines[0];
}

TEST(LaunchErrors, EnvironmentsThatMakeNoSense) {
  const std::string secret = "0123456789abcdef";
  expect_refusal_of_rank({{"PARTITA_RANK", "1"}, {"PARTITA_SIZE", "2"}}, ExitCode::usage,
                         "[launch] variables of the launch are missing, got no PARTITA_MASTER");
  expect_refusal_of_rank({{"PARTITA_RANK", "2"}, {"PARTITA_SIZE", "2"}, {"PARTITA_MASTER", "127.0.0.1:9"}},
                         ExitCode::usage, "got rank 2 of 2 from partita launch, expected 0 to 1");
  expect_refusal_of_rank(
      {{"PARTITA_RANK", "0"}, {"PARTITA_SIZE", "2"}, {"PARTITA_MASTER", "nowhere"}, {"PARTITA_SECRET", secret}},
      ExitCode::usage, "[rendezvous] not an address, got 'nowhere', expected HOST:PORT");
  expect_refusal_of_rank(
      {{"PARTITA_RANK", "0"}, {"PARTITA_SIZE", "2"}, {"PARTITA_MASTER", "127.0.0.1:9"}, {"PARTITA_SECRET", "short"}},
      ExitCode::usage, "[secret] too short, got 5 characters, expected 16 or more");
  expect_refusal_of_rank({{"PARTITA_RANK", "0"},
                          {"PARTITA_SIZE", "2"},
                          {"PARTITA_MASTER", "192.0.2.77:29999"},
                          {"PARTITA_SECRET", secret}},
                         ExitCode::usage, "[sockets] cannot listen on 192.0.2.77:29999");
  expect_refusal_of_rank({{"PARTITA_RANK", "1"},
                          {"PARTITA_SIZE", "2"},
                          {"PARTITA_MASTER", "127.0.0.1:9"},
                          {"PARTITA_SECRET", secret},
                          {"PARTITA_START_TIMEOUT", "0.5"}},
                         ExitCode::peer_stalled, "[rendezvous] rank 0 does not listen at 127.0.0.1:9");
  for (const std::string time : {"soon", "nan", "0.1"}) {
    expect_refusal_of_rank({{"PARTITA_RANK", "1"},
                            {"PARTITA_SIZE", "2"},
                            {"PARTITA_MASTER", "127.0.0.1:9"},
                            {"PARTITA_SECRET", secret},
                            {"PARTITA_STALL_TIMEOUT", time}},
                           ExitCode::usage, "[launch] PARTITA_STALL_TIMEOUT is not a time, got '" + time + "'");
  }
}

/// A launch with temporary folders in `temporary`.
Outcome launch_in(const TempDir& temporary, const std::vector<std::string>& flags,
                  const std::function<void()>& before = nullptr) {
  std::vector<std::string> arguments{"launch"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_program(arguments, [&] {
    ::setenv("TMPDIR", temporary.path().c_str(), 1);
    if (before) before();
  });
}

void expect_first_line(const Outcome& outcome, int code, const std::string& text) {
  EXPECT_EQ(outcome.exit_code, code);
  ASSERT_FALSE(outcome.lines.empty());
  EXPECT_NE(outcome.lines[0].find(text), std::string::npos) << outcome.lines[0];
}

TEST(LaunchErrors, TheFolderForTemporaryFilesExists) {
  const TempDir folder;
  const Outcome outcome = launch_in(folder, {"-n", "1", "--", "train", "mlp", "--steps", "1"},
                                    [&] { ::setenv("TMPDIR", (folder.path() / "none").c_str(), 1); });
  expect_first_line(outcome, 73, "[launch] no folder for temporary files, got TMPDIR=");
}

TEST(LaunchErrors, TheCurrentFolderExists) {
  for (const bool names_logs : {false, true}) {
    const TempDir folder;
    std::vector<std::string> flags{"-n", "1", "--", "train", "mlp", "--steps", "1"};
    if (names_logs) flags.insert(flags.begin(), {"--log-dir", "logs"});
    const Outcome outcome = launch_in(folder, flags, [&] {
      const auto gone = folder.path() / "gone";
      std::filesystem::create_directory(gone);
      std::filesystem::current_path(gone);
      std::filesystem::remove(gone);
    });
    expect_first_line(outcome, 66, "[launch] cannot find the current folder, got No such file or directory");
  }
}

TEST(LaunchErrors, LogsAreNeitherLinksNorPipes) {
  for (const char* name : {"rank_0/stdout", "rank_1/stderr", "rank_1/pid", "rank_0"}) {
    const TempDir folder;
    const auto victim = folder.path() / "victim", link = folder.path() / "logs" / name;
    const bool is_folder = std::string_view(name) == "rank_0";
    if (is_folder) {
      std::filesystem::create_directories(victim);
    } else {
      write_text(victim, "precious");
    }
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(victim, link);
    const std::string logs = (folder.path() / "logs").string();
    expect_first_line(
        launch_in(folder, {"-n", "2", "--max-restarts", "2", "--log-dir", logs, "--", "true"}), 73,
        fmt::format("[launch] host localhost says: [launch] cannot {} {}: got a {}", is_folder ? "make" : "write",
                    link.string(), is_folder ? "link or a file" : "symbolic link"));
    if (is_folder) {
      EXPECT_TRUE(std::filesystem::is_empty(victim));
    } else {
      EXPECT_EQ(read_text(victim), "precious") << name;
    }
  }
  const TempDir folder;
  const std::string logs = (folder.path() / "logs").string();
  std::filesystem::create_directories(logs + "/rank_1");
  ASSERT_EQ(::mkfifo((logs + "/rank_1/stdout").c_str(), 0600), 0);
  expect_first_line(launch_in(folder, {"-n", "2", "--log-dir", logs, "--", "true"}), 73,
                    "rank_1/stdout: No such device");
}

TEST(LaunchErrors, ACommandThatCannotRunIsShownInPrintableCharacters) {
  const TempDir folder;
  const Outcome outcome = launch_in(folder, {"-n", "1", "--max-restarts", "2", "--", "no\x1b[31m\xff"});
  expect_first_line(outcome, 127,
                    "partita: error: [launch] cannot run 'no?[31m?', got No such file or directory, expected a program "
                    "or a partita command");
  EXPECT_FALSE(has_warning(outcome, "restart"));
  const std::string file = (folder.path() / "file").string();
  write_text(file, "no program");
  expect_first_line(launch_in(folder, {"-n", "1", "--", file}), 127, "', got Permission denied, expected a program");
}

constexpr const char* kNoHost = "no..host";  // no name, so that no server has to be asked

// The host of rank 0 may get its name, or its address, after the other ranks have begun.
TEST(LaunchErrors, ARankTriesAgainWhenTheFirstHostHasNoAddress) {
  const std::string master = std::string(kNoHost) + ":29999", secret = "0123456789abcdef";
  for (const char* rank : {"0", "1"}) {
    expect_refusal_of_rank(
        {{"PARTITA_RANK", rank}, {"PARTITA_SIZE", "2"}, {"PARTITA_MASTER", master}, {"PARTITA_SECRET", secret}},
        ExitCode::peer_lost, "[sockets] no address of host 'no..host': ");
  }
  const TempDir folder;
  const Outcome outcome =
      launch_in(folder, {"-n", "1", "--max-restarts", "1", "--", "sh", "-c",
                         R"(export PARTITA_RANK=1 PARTITA_SIZE=2 PARTITA_MASTER="$2"; exec "$1" train mlp --steps 1)",
                         "sh", kProgram, master});
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::peer_lost));
  EXPECT_TRUE(has_warning(outcome, "[launch] restart 1 of 1 on 1 ranks"));
}

// A host of a launch without an address is a mistake, which another attempt does not mend.
TEST(LaunchErrors, AHostWithoutAnAddress) {
  const TempDir folder;
  const std::string name = kNoHost;
  if (run_command({"sh", "-c", "command -v ssh"}).exit_code != 0) GTEST_SKIP() << "no ssh";
  const Outcome outcome =
      launch_in(folder, {"--hosts", "localhost:1," + name + ":1", "--max-restarts", "3", "--", "true"});
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::usage));
  EXPECT_FALSE(has_warning(outcome, "restart"));
  const std::string lines = fmt::format("{}", fmt::join(outcome.lines, "\n"));
  EXPECT_NE(lines.find("[launch] host no..host has no address, got '"), std::string::npos) << lines;
}

/// Puts a program `ssh` into `folder` that notes each call in the file calls. `configured` is what it does for -G.
std::string with_ssh(const TempDir& folder, const std::string& configured) {
  const auto path = folder.path() / "ssh";
  write_text(path, fmt::format("#!/bin/sh\necho \"$*\" >>{}/calls\n[ \"$1\" = -G ] || exit 255\n{}\n",
                               folder.path().string(), configured));
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return folder.path().string() + ":" + std::getenv("PATH");
}

// ssh is asked once how it would reach the host, and no longer than two seconds, in which signals are passed on.
TEST(LaunchErrors, AHostIsLookedUpWithoutWaiting) {
  const auto launch = [](const TempDir& folder, const std::string& configured) {
    const std::string path = with_ssh(folder, configured);
    return launch_in(folder, {"--hosts", std::string("localhost:1,") + kNoHost + ":1", "--", "true"},
                     [&] { ::setenv("PATH", path.c_str(), 1); });
  };
  const auto text_of = [](const Outcome& outcome) { return fmt::format("{}", fmt::join(outcome.lines, "\n")); };
  const std::string unknown = "[launch] host no..host has no address, got 'Name or service not known'";
  const std::string lost = "[launch] host no..host can no longer be reached";
  for (const auto& [configured, code, text] : {std::tuple("echo proxyjump none; echo hostname no..host", 64, unknown),
                                               {"echo hostname no..host; echo proxyjump bastion", 76, lost},
                                               {"echo proxycommand nc; echo hostname no..host", 76, lost},
                                               {"echo hostname 127.0.0.1", 76, lost},
                                               {"exit 255", 76, lost}}) {
    const TempDir folder;
    const Outcome outcome = launch(folder, configured);
    EXPECT_EQ(outcome.exit_code, code) << configured;
    EXPECT_NE(text_of(outcome).find(text), std::string::npos) << text_of(outcome);
    const std::string calls = read_text(folder.path() / "calls");
    EXPECT_EQ(calls.find("-G"), calls.rfind("-G")) << calls;
  }
  const TempDir folder;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = launch(folder, "exec sleep 60");
  EXPECT_EQ(outcome.exit_code, 76);
  EXPECT_NE(text_of(outcome).find(lost), std::string::npos) << text_of(outcome);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(LaunchErrors, ASignalDuringALookupIsPassedOn) {
  const TempDir folder;
  const std::string path = with_ssh(folder, "kill -TERM $(cat \"$TMPDIR/launcher\"); exec sleep 60");
  const std::string script =
      R"(echo $$ >"$TMPDIR/launcher"; exec "$0" launch --hosts "localhost:1,no..host:1" -- sh -c 'exec sleep 60')";
  const Outcome outcome = run_command({"sh", "-c", script, kProgram}, [&] {
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    ::setenv("PATH", path.c_str(), 1);
  });
  EXPECT_EQ(outcome.exit_code, 143);
  EXPECT_EQ(fmt::format("{}", fmt::join(outcome.lines, "\n")).find("can no longer"), std::string::npos);
}

/// The arguments of a launch on four ranks of which rank 3 is killed twice before the shell runs `last` on all ranks.
std::vector<std::string> two_kills_and(const std::string& last, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{"-n", "4"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const std::string lost = "if [ $PARTITA_RUN -lt 2 ]; then [ $PARTITA_RANK = 3 ] && kill -9 $$; exec sleep 60; fi; ";
  arguments.insert(arguments.end(), {"--", "sh", "-c", lost + last, "sh", kProgram});
  return arguments;
}

// Numbers of ranks that the program refuses use up no restart. Three ranks do not divide the batch.
TEST(LaunchErrors, ARefusedNumberOfRanksIsNoFailure) {
  const TempDir folder;
  const auto run = [&](const std::string& least) {
    return launch_in(folder, two_kills_and(R"(exec "$1" train mlp:hidden=4 --batch 8 --steps 1 --no-eval --threads 1)",
                                           {"--max-restarts", "2", "--min-ranks", least}));
  };
  const Outcome fewer = run("1");
  EXPECT_EQ(fewer.exit_code, 0) << fmt::format("{}", fmt::join(fewer.lines, "\n"));
  EXPECT_TRUE(has_warning(fewer, "[launch] restart 2 of 2 on 3 ranks in 0.1 s"));
  EXPECT_TRUE(has_warning(fewer, "[launch] 3 ranks were refused, the job starts on 2"));
  const Outcome none = run("3");
  EXPECT_EQ(none.exit_code, static_cast<int>(ExitCode::usage));
  EXPECT_EQ(none.lines.back(), "partita: error: [launch] too few ranks are left, got 2, expected 3 or more");
}

// Three ranks form no groups of two, which is found when the program is compiled.
TEST(LaunchErrors, ACompilationRefusesANumberOfRanks) {
  const TempDir folder;
  const Outcome outcome = launch_in(
      folder, two_kills_and(R"(exec "$1" train mlp:hidden=4 --zero 1 --zero-group 2 --zero-threshold 0 --batch 12)"
                            " --steps 1 --no-eval --threads 1",
                            {"--max-restarts", "2", "--min-ranks", "1"}));
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  EXPECT_TRUE(has_warning(outcome, "[launch] 3 ranks were refused, the job starts on 2"));
}

// Only the program can say that the number of ranks is why it does not start. Where it cannot tell, the same words for
// the next number say that it is not.
TEST(LaunchErrors, AnotherMistakeThanTheNumberOfRanksEndsTheJob) {
  const TempDir folder;
  const auto run = [&](const std::string& last) {
    const Outcome outcome = launch_in(folder, two_kills_and(last, {"--max-restarts", "3", "--min-ranks", "1"}));
    EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::usage));
    EXPECT_TRUE(has_warning(outcome, "[launch] restart 2 of 3 on 3 ranks in 0.1 s"));
    EXPECT_FALSE(has_warning(outcome, "2 ranks were refused"));
    EXPECT_EQ(fmt::format("{}", fmt::join(outcome.lines, "\n")).find("too few ranks"), std::string::npos);
    return outcome;
  };
  EXPECT_FALSE(has_warning(run("exit 64"), "were refused"));
  EXPECT_FALSE(has_warning(run(R"(exec "$1" train mlp --no-such-flag)"), "were refused"));
  EXPECT_FALSE(has_warning(run(R"(exec "$1" train mlp --batch 48 --quiet --verbose)"), "were refused"));
  EXPECT_TRUE(has_warning(run(R"(exec "$1" train mlp --batch 48 --shard 'nosuch=((2,4),(1,4))')"),
                          "[launch] 3 ranks were refused, the job starts on 2"));
}

TEST(LaunchErrors, WhatAnAgentCannotDoIsNotTriedAgain) {
  const TempDir folder;
  const Outcome outcome =
      launch_in(folder, {"-n", "2", "--max-restarts", "3", "--log-dir", "/proc/no_such/logs", "--", "true"});
  expect_first_line(outcome, 73, "[launch] host localhost says: [launch] cannot make /proc/no_such/logs/rank_0: ");
  EXPECT_FALSE(has_warning(outcome, "restart")) << outcome.warnings[0];
  const auto few_files = [] {
    const rlimit limit{.rlim_cur = 64, .rlim_max = 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  };
  expect_first_line(launch_in(folder, {"-n", "100", "--", "true"}, few_files), 71,
                    "[launch] too few open files for 100 ranks, got a limit of 64, expected 132 or more (ulimit -n)");
  const Outcome rank = run_program({"train", "mlp", "--batch", "100", "--steps", "1"}, [&] {
    for (const auto& [name, value] : {std::pair("PARTITA_RANK", "1"),
                                      {"PARTITA_SIZE", "100"},
                                      {"PARTITA_MASTER", "127.0.0.1:9"},
                                      {"PARTITA_SECRET", "0123456789abcdef"}}) {
      ::setenv(name, value, 1);
    }
    few_files();
  });
  expect_first_line(rank, 71, "[sockets] too few open files for 100 ranks, got a limit of 64, expected 132 or more");
}

TEST(LaunchErrors, TemporaryFoldersStayWhenThereIsSomethingToLookAt) {
  const TempDir folder;
  const auto left = [&] {
    const std::filesystem::directory_iterator all(folder.path());
    return std::distance(begin(all), end(all));
  };
  EXPECT_EQ(launch_in(folder, {"-n", "2", "--", "sh", "-c", "echo done"}).exit_code, 0);
  EXPECT_EQ(left(), 0) << "a job that went well";
  const Outcome killed = launch_in(folder, {"-n", "2", "--max-restarts", "1", "--", "sh", "-c", "kill -9 $$"});
  expect_first_line(killed, 76, "was killed by signal 9");
  EXPECT_EQ(killed.lines[0].find("logs are in"), std::string::npos) << killed.lines[0];
  EXPECT_EQ(
      launch_in(folder, {"-n", "2", "--hosts", "no-such-host.invalid:2", "--ssh", "false", "--", "true"}).exit_code,
      76);
  EXPECT_EQ(left(), 0) << "starts that failed";
  expect_first_line(launch_in(folder, {"-n", "2", "--", "sh", "-c", "echo no; exit 3"}), 3, "logs are in");
  EXPECT_EQ(left(), 1);
}

/// Reports of an agent that receives these orders.
std::vector<AgentReport> reports_of_agent(const std::vector<AgentOrder>& orders) {
  const TempDir folder;
  std::string text;
  for (const AgentOrder& order : orders) text += print(order) + "\n";
  write_text(folder.path() / "orders", text);
  const std::string path = (folder.path() / "orders").string();
  const Outcome outcome =
      run_command({"sh", "-c", R"({ cat "$1"; sleep 1; } | "$0" launch-agent)", kProgram, path});
  EXPECT_EQ(outcome.exit_code, 0);
  std::vector<AgentReport> reports;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    AgentReport report = parse_report(line);
    if (report.kind != AgentReport::Kind::alive) reports.push_back(std::move(report));
  }
  return reports;
}

StartOrder start_order(const TempDir& folder, const std::vector<std::string>& command) {
  return {.command = command,
          .folder = folder.path().string(),
          .log_dir = (folder.path() / "logs").string(),
          .host = "a",
          .address = "127.0.0.1",
          .secret = "0123456789abcdef",
          .run = "0",
          .master = "127.0.0.1:9",
          .first_rank = 1,
          .ranks = 2,
          .size = 3};
}

TEST(LaunchErrors, ASignalEndsARankThatWaitsForOthers) {
  for (const char* rank : {"0", "1"}) {
    const Outcome outcome = run_command(
        {"sh", "-c", R"("$0" train mlp --steps 1 --quiet & sleep 0.7; kill -TERM $!; wait $!)", kProgram}, [&] {
          ::setenv("PARTITA_RANK", rank, 1);
          ::setenv("PARTITA_SIZE", "2", 1);
          ::setenv("PARTITA_MASTER", rank[0] == '0' ? "127.0.0.1:29531" : "127.0.0.1:9", 1);
          ::setenv("PARTITA_SECRET", "0123456789abcdef", 1);
        });
    expect_first_line(outcome, 143,
                      "[rendezvous] interrupted, got signal 15 (Terminated), expected all ranks to connect");
  }
}

TEST(LaunchErrors, AnAgentKeepsASignalForRanksThatItStartsLater) {
  const TempDir folder;
  const AgentOrder start{.kind = AgentOrder::Kind::start, .start = start_order(folder, {"touch", "started"})};
  const auto signal = [](int number) { return AgentOrder{.kind = AgentOrder::Kind::signal, .signal = number}; };
  const auto reports = reports_of_agent({signal(SIGTERM), start});
  ASSERT_EQ(reports.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(reports[i].kind, AgentReport::Kind::ended);
    EXPECT_EQ(reports[i].rank, 1 + i);
    EXPECT_EQ(reports[i].signal, SIGTERM);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "started"));
  // A rank that has not begun has nothing to save.
  EXPECT_EQ(reports_of_agent({signal(SIGUSR1), start}).size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "started"));
}

TEST(LaunchErrors, SecretsThatOthersMayRead) {
  const TempDir folder;
  const std::string path = (folder.path() / "secret").string();
  write_text(path, "0123456789abcdef\n");
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  expect_refusal_of_rank(
      {{"PARTITA_RANK", "1"}, {"PARTITA_SIZE", "2"}, {"PARTITA_MASTER", "127.0.0.1:9"}, {"PARTITA_SECRET_FILE", path}},
      ExitCode::usage, "must be a file that only this user can read, got mode 0644");
}

}  // namespace
}  // namespace partita
