// Every reader of a text file against every kind of path that is none: the same message, and the same exit code.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "job/toml.h"
#include "planner/cluster/toml.h"
#include "planner/graph_file.h"
#include "planner/plan_file/plan_file.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/comm/flight_record.h"
#include "runtime/launch/launcher/hosts.h"
#include "runtime/launch/rank_table.h"
#include "support/places.h"
#include "support/program.h"
#include "training/sweep/sweep_file.h"

namespace partita {
namespace {

struct TextReader {
  std::string where, purpose;  // parts of messages
  int64_t max_bytes;
  bool may_be_pipe;
  std::function<void(const std::string& path)> read;
};

const std::string kNameOfManifests = kManifestName;

/// All readers. A manifest has one name, so `folder` gets a link to the path.
std::vector<TextReader> all_readers(const std::filesystem::path& folder) {
  const auto read_link = [folder](const std::string& path) {
    const std::filesystem::path link = folder / kNameOfManifests;
    std::filesystem::remove(link);
    std::filesystem::create_symlink(path, link);
    read_manifest(folder.string());
  };
  const auto record = FlightRecord::create((folder / "record").string(), 0, 1, "here");
  const auto record_bytes = static_cast<int64_t>(std::filesystem::file_size(folder / "record"));
  return {
      {"configuration", "a configuration", 1 << 20, true, [](const std::string& path) { read_config(path); }},
      {"sweep", "a sweep", 1 << 20, true, [](const std::string& path) { read_sweep(path); }},
      {"cluster", "a cluster", 1 << 20, true, [](const std::string& path) { read_cluster(path); }},
      {"graph", "a graph", 16 << 20, false, [](const std::string& path) { read_graph(path); }},
      {"--plan", "a plan", 64 << 20, true, [](const std::string& path) { read_plan_file(path); }},
      {"hostfile", "a list of hosts", 1 << 20, true, [](const std::string& path) { read_hostfile(path); }},
      {"rank table", "a rank table", 16 << 20, true, [](const std::string& path) { hosts_of_rank_table(path); }},
      {"checkpoint", "a manifest", 1 << 30, false, read_link},
      {"diagnose", "a flight record", record_bytes, false, [](const std::string& path) { read_flight_record(path); }},
  };
}

/// Expects the reader to refuse the path with this exit code, and a message that begins with the reader's place and
/// ends with `reason`.
void expect_refused(const TextReader& reader, const std::string& path, ExitCode code, const std::string& reason) {
  SCOPED_TRACE(reader.where + " of " + path);
  try {
    reader.read(path);
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    EXPECT_TRUE(message.starts_with("[" + reader.where + "] ")) << message;
    EXPECT_TRUE(message.ends_with(reason)) << message;
  }
}

TEST(TextFileErrors, EveryReaderSaysWhatAPathIs) {
  const TempDir folder, links;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path("socket").c_str(), sizeof address.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  write_text(path("closed"), "x");
  ::chmod(path("closed").c_str(), 0);
  for (const TextReader& reader : all_readers(links.path())) {
    expect_refused(reader, path("none"), ExitCode::missing_file, ": No such file or directory");
    expect_refused(reader, folder.path().string(), ExitCode::missing_file, ": it is a folder, expected a file");
    expect_refused(reader, path("socket"), ExitCode::missing_file, ": it is a socket, expected a file");
    const std::string too_large =
        fmt::format(": too large, got more than {} bytes, expected {}", reader.max_bytes, reader.purpose);
    if (reader.may_be_pipe) {
      expect_refused(reader, "/dev/zero", ExitCode::bad_input, too_large);
    } else {
      expect_refused(reader, path("pipe"), ExitCode::missing_file, ": it is a pipe, expected a file");
      for (const char* device : {"/dev/null", "/dev/zero"}) {
        expect_refused(reader, device, ExitCode::missing_file, ": it is a device, expected a file");
      }
    }
    expect_refused(reader, "/proc/self/mem", ExitCode::missing_file, ": Input/output error");
    if (::geteuid() != 0) expect_refused(reader, path("closed"), ExitCode::missing_file, ": Permission denied");
    write_text(path("large"), "");
    std::filesystem::resize_file(path("large"), static_cast<uintmax_t>(reader.max_bytes) + 1);
    expect_refused(reader, path("large"), ExitCode::bad_input, too_large);
  }
  ::close(listener);
}

TEST(TextFileErrors, TheCommandsSaySo) {
  const TempDir folder;
  const std::string path = folder.path().string(), reason = "cannot read " + path + ": it is a folder, expected a file";
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& where) {
    expect_refusal(arguments, ExitCode::missing_file, {"[" + where + "] " + reason});
  };
  refused({"launch", "--hostfile", path, "--", "train"}, "hostfile");
  refused({"launch", "--rank-table", path, "--", "train"}, "rank table");
  refused({"train", "--config", path}, "configuration");
  refused({"train", "--plan", path}, "--plan");
  refused({"plan", "mlp", "--cluster", path}, "cluster");
  refused({"graph", path}, "graph");
}

TEST(TextFiles, AreReadFromWhatCommandsPrint) {
  const std::string script = R"(exec "$0" train mlp --print-config --config <(printf '[training]\nsteps = 37\n'))";
  const Outcome outcome = run_command({"bash", "-c", script, kProgram});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("\nsteps = 37\n"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace partita
