#include "runtime/device/xla/program_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/usable_cores.h"
#include "base/version.h"
#include "runtime/device/xla/plugin_search.h"
#include "runtime/device/xla/xla_flags.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns the checksum of a file's content and its size. Throws MissingFile if it cannot be read.
std::string content_of(const std::string& path) {
  const File file(path, O_RDONLY | O_CLOEXEC);
  Checksum checksum;
  std::vector<char> block(size_t{1} << 20);
  int64_t bytes = 0;
  while (true) {
    const ssize_t count = file.is_open() ? ::read(file.fd(), block.data(), block.size()) : -1;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw MissingFile("[cache] cannot read {}: {}", path, std::strerror(errno));
    }
    if (count == 0) return fmt::format("{} {}", print_checksum(checksum.take()), bytes);
    checksum.add(block.data(), static_cast<size_t>(count));
    bytes += count;
  }
}

/// Returns a line for a file's content; "" if there is no such file. Throws MissingFile if it cannot be read.
std::string file_line(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) ? fmt::format("file {}\n", content_of(path)) : "";
}

/// Returns lines for the files that a variable of flags names: a file of flags, and the values of flags. Throws
/// MissingFile if one cannot be read.
std::string files_in(const std::string& value) {
  std::string text = file_line(value);
  for (const std::string& word : words_of_flags(text_of_flags(value).value_or(""))) {
    if (!word.starts_with('-') || word.find('=') == std::string::npos) {
      text += file_line(word);
      continue;
    }
    std::string path = word.substr(word.find('=') + 1);
    const bool is_quoted = path.size() >= 2 && (path[0] == '\'' || path[0] == '"') && path.back() == path[0];
    text += file_line(is_quoted ? path.substr(1, path.size() - 2) : path);
  }
  return text;
}

/// Returns the lines of the first processor that say which instructions it has, and how many processors the process
/// may use, among which programs are split; "" if there are none.
std::string processor_text(const std::string& cpu_info) {
  static const std::set<std::string_view> kNames{
      "vendor_id",   "cpu family",       "model",    "model name",   "stepping", "flags", "Features", "CPU implementer",
      "CPU variant", "CPU architecture", "CPU part", "CPU revision", "cpu",      "isa",   "hart isa"};
  std::ifstream lines(cpu_info);
  std::string line, text;
  while (std::getline(lines, line) && !line.empty()) {
    const std::string name = line.substr(0, line.find_last_not_of(" \t", line.find(':') - 1) + 1);
    if (kNames.contains(name)) text += line + "\n";
  }
  if (text.empty()) return "";
  return text + fmt::format("cores {}\n", usable_cores().affinity);
}

/// Returns lines for the libraries, the assembler and the driver of NVIDIA, whose files are too large to be read.
std::string nvidia_text(const std::string& plugin) {
  std::vector<std::string> paths = nvidia_libraries(plugin);
  paths.push_back(cuda_data_folder(plugin) + "/bin/ptxas");
  std::string text;
  for (const std::string& path : paths) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) continue;
    text += fmt::format("library {} {} {}.{}\n", path, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  std::ifstream driver("/proc/driver/nvidia/version");
  return text + std::string(std::istreambuf_iterator<char>(driver), {});
}

}  // namespace

std::string program_folder() {
  const std::string given = variable("PARTITA_CACHE");
  if (given == "off") return "";
  if (!given.empty() && !given.starts_with('/')) {
    throw InvalidArgument("[cache] PARTITA_CACHE names no folder, got '{}', expected an absolute path, or off", given);
  }
  if (!given.empty()) return given;
  // A relative path is no base folder (freedesktop.org, XDG Base Directory Specification).
  if (const std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/partita/programs";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/partita/programs";
}

std::string compiler_identity(const pjrt::Client& client, const std::string& plugin, const std::string& cpu_info) {
  const std::string platform = client.platform();
  std::string text = fmt::format("partita {}\nplatform {}\n{}\ninterface {}.{}\nplugin {}\ndevices {}\n", version(),
                                 platform, client.platform_version(), client.version().major, client.version().minor,
                                 content_of(plugin), client.devices());
  if (client.devices() > 0) text += fmt::format("kind {}\n", client.kind(0));
  for (const char* const name : {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "NVIDIA_TF32_OVERRIDE"}) {
    const std::string flags = variable(name);
    text += fmt::format("{}={}\n{}", name, flags, files_in(flags));
  }
  if (platform == "cuda") text += nvidia_text(plugin);
  if (platform != "cpu") return text;
  const std::string processor = processor_text(cpu_info);
  return processor.empty() ? "" : text + processor;
}

ProgramCache::ProgramCache(Options options) : options_(std::move(options)) {
  try {
    files_.emplace(options_.folder, options_.max_bytes);
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

bool ProgramCache::may(Trouble trouble) const {
  const std::lock_guard lock(mutex_);
  return !troubles_.contains(trouble);
}

void ProgramCache::note(Trouble trouble, const Warn& warn, const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (!troubles_.insert(trouble).second) return;
  }
  if (warn) warn(message);
}

std::optional<pjrt::Executable> ProgramCache::load(const pjrt::Client& client, const std::string& key,
                                                   const Warn& warn) {
  if (!may(Trouble::load)) return std::nullopt;
  const ProgramFiles::Found found = files_->read(key);
  if (!found.damage.empty()) {
    note(Trouble::damage, warn, fmt::format("[cache] a kept program is compiled anew, got {}", found.damage));
  }
  if (!found.program) return std::nullopt;
  try {
    return client.load(*found.program);
  } catch (const Error& error) {
    if (error.code() == ExitCode::out_of_memory) throw;
    note(Trouble::load, warn,
         fmt::format("[cache] the plugin does not load what it compiled, so programs are compiled anew: {}",
                     error.what()));
    files_->remove(key);
    return std::nullopt;
  }
}

void ProgramCache::keep(const std::string& key, const pjrt::Executable& program, const Warn& warn) {
  if (const std::string path = files_->obstacle(key); !path.empty()) {
    note(
        Trouble::obstacle, warn,
        fmt::format("[cache] a program is not kept, got a folder in place of its file, expected none: rm -r {}", path));
    return;
  }
  std::string bytes;
  try {
    bytes = program.serialized();
  } catch (const Error& error) {
    note(Trouble::serialize, warn,
         fmt::format("[cache] the plugin does not give its programs, so none is kept: {}", error.what()));
    return;
  }
  try {
    files_->write(key, bytes);
  } catch (const Error& error) {
    note(Trouble::write, warn, fmt::format("{}; compiled programs are not kept", error.what()));
  }
}

pjrt::Executable ProgramCache::program_of(const pjrt::Client& client, const std::string& text,
                                          const pjrt::CompileOptions& options, const Warn& warn) {
  if (!files_) {
    note(Trouble::folder, warn, fmt::format("{}; compiled programs are not kept", failure_));
    return client.compile(text, options);
  }
  const std::string settings = pjrt::serialized(options);
  const std::string key =
      fmt::format("{}options {} {}\nprogram {}\n{}", options_.compiler, settings.size(), settings, text.size(), text);
  if (auto program = load(client, key, warn)) return std::move(*program);
  const bool keeps = may(Trouble::load) && may(Trouble::serialize) && may(Trouble::write);
  if (!keeps) return client.compile(text, options);
  {
    const ProgramFiles::Lock lock = files_->lock(key, options_.patience);
    if (auto program = load(client, key, warn)) return std::move(*program);
    if (!lock.has_waited()) {
      pjrt::Executable program = client.compile(text, options);
      keep(key, program, warn);
      return program;
    }
  }
  // Whoever had the lock has kept nothing. Those that waited compile at the same time, not one after another.
  pjrt::Executable program = client.compile(text, options);
  keep(key, program, warn);
  return program;
}

}  // namespace partita
