#include "runtime/checkpoint/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/plain_text.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step_", kUnfinished = ".step_", kUnfinishedEnd = ".tmp", kReplaced = ".old";

/// The step of a name "step_N"; none for other names.
std::optional<int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  name.remove_prefix(kStep.size());
  const std::optional<int64_t> step = parse_number<int64_t>(name);
  return step && *step >= 0 ? step : std::nullopt;
}

bool is_leftover(std::string_view name) {
  return name.starts_with(kUnfinished) && (name.ends_with(kUnfinishedEnd) || name.ends_with(kReplaced));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure), end;
  if (failure == std::errc::no_such_file_or_directory) return names;
  for (; !failure && entry != end; entry.increment(failure)) names.push_back(entry->path().filename().string());
  if (failure) throw MissingFile("[checkpoint] cannot read {}: {}", folder, failure.message());
  return names;
}

/// A checkpoint whose manifest has the right checksum.
struct OrderedCheckpoint {
  std::string path;
  ManifestOrder order;
};

/// Returns the checkpoints of a folder whose manifests have the right checksum and the step of the folder's name,
/// newest last. Empty if there is no such folder. Throws MissingFile if the folder cannot be read.
std::vector<OrderedCheckpoint> checkpoints_in_order(const std::string& folder) {
  std::vector<OrderedCheckpoint> found;
  for (const std::string& name : names_in(folder)) {
    const std::optional<int64_t> step = step_of_name(name);
    if (!step) continue;
    try {
      OrderedCheckpoint one{.path = folder + "/" + name, .order = read_manifest_order(folder + "/" + name)};
      if (one.order.step == *step) found.push_back(std::move(one));
    } catch (const Error&) {
      continue;  // a damaged checkpoint
    }
  }
  std::ranges::sort(found, [](const OrderedCheckpoint& a, const OrderedCheckpoint& b) { return a.order < b.order; });
  return found;
}

[[noreturn]] void fail(const std::string& path) { throw_cannot_write("checkpoint", path, std::strerror(errno)); }

/// Creates a folder and returns whether it is new; false if it existed. Its parent must exist, so that a disk that is
/// not mounted is not replaced by a folder. Throws RuntimeFailure(cannot_write) if it cannot be created or is no
/// folder.
bool make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) fail(folder);
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) throw_cannot_write("checkpoint", folder, "it is not a folder");
  return false;
}

void write_manifest(const std::string& folder, const Manifest& manifest) {
  const std::string path = folder + "/" + kManifestName, text = print_manifest(manifest);
  File file = new_file(path);
  if (!file.is_open() || !write_all(file.fd(), text.data(), text.size()) || ::fsync(file.fd()) != 0 || !file.close()) {
    fail(path);
  }
}

/// Requires that no damaged checkpoint has a manifest. One with a manifest was complete once, while one without was
/// never finished. Called if a folder has no whole checkpoint. Throws InvalidFile otherwise.
void refuse_damage_alone(const std::string& folder, const std::vector<FoundCheckpoint>& damaged) {
  const FoundCheckpoint* newest = nullptr;
  int64_t saved = 0;
  for (const FoundCheckpoint& one : damaged) {
    std::error_code failure;
    const fs::file_status status = fs::symlink_status(one.path + "/" + kManifestName, failure);
    if (status.type() == fs::file_type::not_found) continue;
    newest = &one;
    ++saved;
  }
  if (newest == nullptr) return;
  throw InvalidFile(
      "[checkpoint] no complete checkpoint in {}, got {} damaged, the newest because of {}, expected one that is "
      "complete, or a folder without checkpoints",
      folder, saved, newest->damage);
}

/// Requires that this process sees every file of the manifest with its size. Throws RuntimeFailure(cannot_write)
/// otherwise.
void require_files(const std::string& folder, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) {
    struct stat status {};
    const std::string path = folder + "/" + file.name;
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    if (is_there && status.st_size == file.bytes) continue;
    throw RuntimeFailure(ExitCode::cannot_write,
                         "[checkpoint] the first rank does not see {} as it was written, got {}, expected {} bytes in "
                         "a lasting folder that all hosts share",
                         path, is_there ? fmt::format("{} bytes", status.st_size) : std::strerror(errno), file.bytes);
  }
}

}  // namespace

std::string checkpoint_path(const std::string& folder, int64_t step) {
  return fmt::format("{}/{}{}", folder, kStep, step);
}

bool is_checkpoint_folder(const std::string& path) {
  std::error_code failure;
  return fs::is_directory(path, failure) &&
         (fs::exists(path + "/" + kManifestName, failure) || step_of_name(fs::path(path).filename().string()));
}

std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder) {
  std::vector<FoundCheckpoint> found;
  for (const std::string& name : names_in(folder)) {
    const std::optional<int64_t> step = step_of_name(name);
    if (!step) continue;
    FoundCheckpoint one{.path = folder + "/" + name, .step = *step};
    try {
      one.manifest = read_manifest(one.path);
      if (one.manifest->position.step != *step) {
        one.damage = fmt::format("the manifest is of step {}", one.manifest->position.step);
        one.manifest.reset();
      } else {
        one.sequence = one.manifest->sequence;
      }
    } catch (const Error& error) {
      one.damage = error.what();
    }
    found.push_back(std::move(one));
  }
  std::ranges::sort(found, [](const FoundCheckpoint& a, const FoundCheckpoint& b) {
    return std::pair(a.sequence, a.step) < std::pair(b.sequence, b.step);
  });
  return found;
}

int64_t next_sequence(const std::string& folder) {
  const std::vector<OrderedCheckpoint> found = checkpoints_in_order(folder);
  return found.empty() ? 0 : found.back().order.sequence + 1;
}

std::optional<FoundCheckpoint> newest_checkpoint(const std::string& folder,
                                                 const std::function<void(const std::string&)>& warn) {
  std::vector<FoundCheckpoint> found = list_checkpoints(folder);
  std::optional<FoundCheckpoint> newest;
  if (!found.empty() && found.back().manifest) newest = found.back();
  if (!newest) refuse_damage_alone(folder, found);
  for (const FoundCheckpoint& one : found) {
    if (one.manifest || (newest && one.step < newest->step)) continue;
    warn(fmt::format("[checkpoint] {} is not used: {}", one.path, one.damage));
  }
  return newest;
}

void check_checkpoint_folder(const std::string& folder) {
  const bool is_new = make_folder(folder);
  std::string probe = folder + "/.probe-XXXXXX";
  const File file(::mkostemp(probe.data(), O_CLOEXEC));
  const int reason = errno;
  if (file.is_open()) ::unlink(probe.c_str());
  if (is_new) ::rmdir(folder.c_str());
  if (!file.is_open()) throw_cannot_write("checkpoint", folder, std::strerror(reason));
}

std::string begin_checkpoint(const std::string& folder, int64_t step) {
  make_folder(folder);
  for (const std::string& name : names_in(folder)) {
    if (is_leftover(name)) remove_checkpoint(folder + "/" + name);
  }
  const std::string path = fmt::format("{}/{}{}{}", folder, kUnfinished, step, kUnfinishedEnd);
  if (::mkdir(path.c_str(), 0777) != 0) fail(path);
  return path;
}

void commit_checkpoint(const std::string& folder, const std::string& begun, const Manifest& manifest) {
  require_files(begun, manifest);
  write_manifest(begun, manifest);
  if (!sync_folder(begun)) fail(begun);
  const std::string path = checkpoint_path(folder, manifest.position.step);
  const std::string replaced = fmt::format("{}/{}{}{}", folder, kUnfinished, manifest.position.step, kReplaced);
  // An existing checkpoint is exchanged with the new one, so that there always is one.
  const bool exchanged = ::renameat2(AT_FDCWD, begun.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0;
  if (!exchanged) {
    const bool is_there = errno != ENOENT;  // else the file system cannot exchange names
    if (is_there) ::rename(path.c_str(), replaced.c_str());
    if (::rename(begun.c_str(), path.c_str()) != 0) {
      const int reason = errno;
      if (is_there) ::rename(replaced.c_str(), path.c_str());
      errno = reason;
      fail(path);
    }
    if (is_there) remove_checkpoint(replaced);
  }
  if (!sync_folder(folder)) fail(folder);
  if (exchanged) remove_checkpoint(begun);
}

void remove_old_checkpoints(const std::string& folder, int64_t most, int64_t newest, int64_t best) {
  if (most == 0) return;
  const std::vector<OrderedCheckpoint> found = checkpoints_in_order(folder);
  int64_t excess = static_cast<int64_t>(found.size()) - most;
  for (const OrderedCheckpoint& one : found) {
    if (excess <= 0) return;
    if (one.order.step == newest) continue;
    --excess;
    if (one.order.step == best) continue;
    // A checkpoint under its own name is always whole, so it is renamed before it is removed.
    const std::string old = fmt::format("{}/{}{}{}", folder, kUnfinished, one.order.step, kReplaced);
    remove_checkpoint(old);
    if (::rename(one.path.c_str(), old.c_str()) == 0) remove_checkpoint(old);
  }
}

void remove_checkpoint(const std::string& path) noexcept {
  std::error_code failure;
  fs::remove(path + "/" + kManifestName, failure);
  fs::remove_all(path, failure);
}

}  // namespace partita
