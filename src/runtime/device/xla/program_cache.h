#pragma once
// A cache of compiled programs on the disk, so that a training that was compiled once starts at once.

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "runtime/device/xla/program_files.h"
#include "runtime/pjrt/client.h"

namespace partita {

/// Returns the folder of compiled programs: PARTITA_CACHE, or partita/programs in XDG_CACHE_HOME or ~/.cache; "" if
/// PARTITA_CACHE is "off", or if no variable says where a folder may be. Throws InvalidArgument if PARTITA_CACHE is
/// neither "off" nor an absolute path.
std::string program_folder();

/// Returns a text that differs if the plugin may compile a program differently: the client's devices, the plugin's file
/// by its content, libraries of NVIDIA next to it, variables and files that the compiler reads and, for a plugin of
/// CPUs, the processor, which `cpu_info` describes as /proc/cpuinfo does. "" if the processor is not known. Throws
/// MissingFile if a file cannot be read, and what the plugin reports.
std::string compiler_identity(const pjrt::Client& client, const std::string& plugin,
                              const std::string& cpu_info = "/proc/cpuinfo");

/// Prints a warning.
using Warn = std::function<void(std::string_view)>;

/// Takes compiled programs from a folder, and keeps there what had to be compiled. Whatever is wrong with the folder, a
/// file or the plugin costs a compilation and a warning of its kind, the first time. Threads may use it at the same
/// time.
class ProgramCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{4} << 30;

  struct Options {
    std::string folder;
    std::string compiler;  // `compiler_identity`
    int64_t max_bytes = kMaxBytes;
    std::chrono::milliseconds patience = std::chrono::minutes(10);  // time to wait for another process that compiles
  };
  explicit ProgramCache(Options options);

  /// Returns the program of a module: the one in the folder, or compiled. Of several processes that need the same one
  /// at the same time the first compiles it and the others wait. Throws as `Client::compile` does.
  pjrt::Executable program_of(const pjrt::Client& client, const std::string& text, const pjrt::CompileOptions& options,
                              const Warn& warn);

 private:
  enum class Trouble { folder, damage, obstacle, load, serialize, write };

  std::optional<pjrt::Executable> load(const pjrt::Client& client, const std::string& key, const Warn& warn);
  void keep(const std::string& key, const pjrt::Executable& program, const Warn& warn);
  /// Whether programs are still looked for, or kept.
  bool may(Trouble trouble) const;
  void note(Trouble trouble, const Warn& warn, const std::string& message);

  const Options options_;
  std::optional<ProgramFiles> files_;  // none: the folder cannot be used
  std::string failure_;                // why there are no files
  mutable std::mutex mutex_;           // guards `troubles_`
  std::set<Trouble> troubles_;         // kinds of warnings that were printed
};

}  // namespace partita
